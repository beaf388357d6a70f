// A port in Go of the levels core and samplers, added to the starter: every kernel of both levels.
//
//	go build -o samplers starter.go samplers.go && minibatch-gnn conformance --cmd ./samplers --level samplers
//
// It was written from the pages of docs/kernels. Names of functions are those of the pages.
package main

import (
	"encoding/json"
	"math"
	"math/bits"
	"sort"
	"strconv"
)

func init() {
	name = "samplers.go"
	for called, kernel := range map[string]func(object) (compute, error){
		"permutation": permutation, "floyd": floyd, "alias_build": aliasBuild,
		"transpose_perm": transposePerm, "induced_subgraph": inducedSubgraph,
		"transpose_block": transposeBlock, "pin_tile": pinTile, "dashboard": pinTile,
		"bucket": bucket, "edge": edge, "random_walk": randomWalk,
		"multiple_walks": multipleWalks, "forest_fire": forestFire,
	} {
		kernels[called] = kernel
	}
	kernels["sample_many"] = sampleMany // it looks up kernels
}

// ---- Arguments and results ----

// A stream has the draws of a key in order; c is the number of the next one.
type stream struct{ k, c uint64 }

func (s *stream) uniform() float64 {
	s.c++
	return draw(s.k, s.c-1)
}

func (s *stream) below(n int) int { return int(s.uniform() * float64(n)) }

func (s *stream) pick(total, m int) []int {
	s.c += uint64(m)
	return pick(s.k, s.c-uint64(m), total, m)
}

func (s *stream) neighbour(g graph, v int) int { return g.near(v)[s.below(len(g.near(v)))] }

// real64 returns a number, which may be nan, inf or -inf.
func real64(value any) (float64, error) {
	switch v := value.(type) {
	case json.Number:
		return v.Float64()
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return x, nil
		}
	}
	return 0, errType
}

func undirected(value any) (graph, error) {
	g, err := graphOf(value)
	if err == nil && !g.isUndirected() {
		err = errValue
	}
	return g, err
}

func choice(value any, names ...string) error {
	for _, known := range names {
		if value == known {
			return nil
		}
	}
	return errValue
}

func array(dtype string, list any, length int) object {
	return object{"dtype": dtype, "shape": []int{length}, "data": list}
}

func fields(parts object) object { return object{"fields": parts} }

func degreeSum(g graph, list []int) (sum int) {
	for _, v := range list {
		sum += len(g.near(v))
	}
	return sum
}

func sorted(sample map[int]bool) []int {
	list := make([]int, 0, len(sample))
	for v := range sample {
		list = append(list, v)
	}
	sort.Ints(list)
	return list
}

func counters(given object) object {
	all := object{}
	for _, counter := range []string{"pops", "probes", "rounds", "cleanups", "moved", "truncated",
		"popped_degree_sum", "added_degree_sum", "capacity", "draws"} {
		all[counter] = 0
		if x, isGiven := given[counter]; isGiven {
			all[counter] = x
		}
	}
	return fields(all)
}

func nodeSample(g graph, sample map[int]bool, popped, pushed []int, draws uint64, more object) any {
	more["pops"], more["draws"] = len(popped), draws
	more["popped_degree_sum"], more["added_degree_sum"] = degreeSum(g, popped), degreeSum(g, pushed)
	return fields(object{
		"nodes": ids(sorted(sample)), "popped": ids(popped), "pushed": ids(pushed),
		"counters": counters(more),
	})
}

// ---- Choosing ----

func permutation(args object) (compute, error) {
	k, errK := word(args["key"])
	n, errN := integer(args["n"], 0, maxInt32)
	return func(func(object)) any { return ids(pick(k, 0, int(n), int(n))) }, firstOf(errK, errN)
}

func floyd(args object) (compute, error) {
	k, errK := word(args["key"])
	n, errN := integer(args["n"], 0, maxInt32)
	f, errF := integer(args["f"], 0, n)
	return func(func(object)) any {
		chosen := map[int]bool{}
		for c := 0; c < int(f); c++ {
			last := int(n) - int(f) + c
			t := drawBelow(k, uint64(c), last+1)
			if chosen[t] {
				t = last
			}
			chosen[t] = true
		}
		return ids(sorted(chosen))
	}, firstOf(errK, errN, errF)
}

func aliasBuild(args object) (compute, error) {
	given, isArray := args["weights"].(object)
	if !isArray || given["dtype"] != "float32" && given["dtype"] != "float64" {
		return nil, errType
	}
	values, _ := given["data"].([]any)
	shape, _ := given["shape"].([]any)
	weights, sum := make([]float64, len(values)), 0.0
	for i, value := range values {
		x, err := real64(value)
		if err != nil || !(x >= 0) || math.IsInf(x, 0) {
			return nil, errValue
		}
		weights[i] = x
		sum += x
	}
	if len(shape) != 1 || len(weights) == 0 || sum == 0 || math.IsInf(sum, 0) {
		return nil, errValue
	}
	return func(func(object)) any {
		prob, alias := aliasTable(weights)
		return fields(object{
			"prob":  array("float64", prob, len(prob)),
			"alias": array("int64", alias, len(alias)),
		})
	}, nil
}

func aliasTable(weights []float64) (prob []float64, alias []int) {
	k, sum := len(weights), 0.0
	for _, x := range weights {
		sum += x
	}
	p := make([]float64, k)
	prob, alias = make([]float64, k), make([]int, k)
	var small, large []int
	put := func(i int) {
		if p[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for i, x := range weights {
		p[i], prob[i], alias[i] = x/sum*float64(k), 1, i
		put(i)
	}
	for len(small) > 0 && len(large) > 0 {
		low, high := small[len(small)-1], large[len(large)-1]
		small, large = small[:len(small)-1], large[:len(large)-1]
		prob[low], alias[low] = p[low], high
		p[high] = (p[high] + p[low]) - 1
		put(high)
	}
	return prob, alias
}

// ---- Structure ----

func transposeOf(g graph) []int {
	next, perm := append([]int{}, g.indptr...), make([]int, len(g.indices))
	for j, u := range g.indices { // entries of column u come in the order of row u
		perm[j] = next[u]
		next[u]++
	}
	return perm
}

func transposePerm(args object) (compute, error) {
	g, err := undirected(args["graph"])
	return func(func(object)) any { return ids(transposeOf(g)) }, err
}

func inducedSubgraph(args object) (compute, error) {
	g, err := undirected(args["graph"])
	given, _ := args["nodes"].(object)
	if dtype, _ := given["dtype"].(string); dtype != "int32" && dtype != "int64" {
		return nil, errType
	}
	values, _ := given["data"].([]any)
	nodes, least := make([]int, len(values)), uint64(0)
	for i, value := range values {
		v, errNode := integer(value, least, uint64(g.n)-1)
		if errNode != nil || g.n == 0 {
			return nil, errValue
		}
		nodes[i], least = int(v), v+1
	}
	return func(func(object)) any { return subgraphOf(g, nodes, counters(nil)) }, err
}

func subgraphOf(g graph, nodes []int, counts object) any {
	place := map[int]int{}
	for i, v := range nodes {
		place[v] = i
	}
	inside := graph{n: len(nodes), indptr: []int{0}, indices: []int{}}
	edgeIDs := []int{}
	for _, v := range nodes {
		for j := g.indptr[v]; j < g.indptr[v+1]; j++ {
			if i, isIn := place[g.indices[j]]; isIn {
				inside.indices, edgeIDs = append(inside.indices, i), append(edgeIDs, j)
			}
		}
		inside.indptr = append(inside.indptr, len(inside.indices))
	}
	return fields(object{
		"nodes": ids(nodes), "edge_ids": array("int64", edgeIDs, len(edgeIDs)),
		"graph":          object{"graph": object{"indptr": inside.indptr, "indices": inside.indices}},
		"transpose_perm": ids(transposeOf(inside)), "counters": counts,
	})
}

func transposeBlock(args object) (compute, error) {
	block, _ := args["block"].(object)
	if block["type"] != "Block" {
		return nil, errType
	}
	parts, _ := block["fields"].(object)
	start, end, indices := listOf(parts["start"]), listOf(parts["end"]), listOf(parts["indices"])
	n, err := integer(parts["n_src"], 0, maxInt32)
	return func(func(object)) any {
		rows, places := make([][]int, n), make([][]int, n)
		for v := range start {
			for j := start[v]; j < end[v]; j++ {
				u := indices[j]
				rows[u], places[u] = append(rows[u], v), append(places[u], j)
			}
		}
		made, perm, first, last := []int{}, []int{}, make([]int, n), make([]int, n)
		for u := range rows {
			first[u] = len(made)
			made, perm = append(made, rows[u]...), append(perm, places[u]...)
			last[u] = len(made)
		}
		return []any{fields(object{
			"start": array("int64", first, len(first)), "end": array("int64", last, len(last)),
			"indices": ids(made), "n_src": len(start), "edge_ids": nil,
		}), array("int64", perm, len(perm))}
	}, err
}

// ---- Frontier samplers ----

type frontierArgs struct {
	g           graph
	main, probe uint64
	m, n, limit int
	isPushed    bool
}

func (a frontierArgs) weight(v int) int {
	if degree := len(a.g.near(v)); degree < a.limit {
		return degree
	}
	return a.limit
}

func frontierArguments(args object) (a frontierArgs, err error) {
	var errs [5]error
	if a.g, err = undirected(args["graph"]); err != nil {
		return a, err
	}
	a.main, errs[0] = word(args["main"])
	a.probe, errs[1] = word(args["probe"])
	m, errM := integer(args["m"], 1, uint64(a.g.n))
	n, errN := integer(args["n"], m, maxInt32)
	limit := uint64(maxInt32)
	if args["deg_cap"] != nil {
		limit, errs[2] = integer(args["deg_cap"], 1, maxInt32)
	}
	a.m, a.n, a.limit, a.isPushed = int(m), int(n), int(limit), args["include"] == "pushed"
	errs[3], errs[4] = errM, errN
	return a, firstOf(append(errs[:], choice(args["include"], "pushed", "popped"))...)
}

const noTile = -1

// A board is the Dashboard: pins, the columns in use, and the tiles.
type board struct {
	pins, start, tile              []int // start has an entry more than there are columns
	live                           []bool
	node, first, last, slot        []int // of each tile
	used, probes, rounds, cleanups int
	moved, truncated               int
}

func (b *board) free() int { return len(b.pins) - b.start[len(b.start)-1] }

func (b *board) add(v, tile, length int) {
	begin := b.start[len(b.start)-1]
	b.node[tile], b.first[tile], b.last[tile], b.slot[tile] = v, begin, begin+length, len(b.live)
	b.live, b.tile, b.start = append(b.live, true), append(b.tile, tile), append(b.start, begin+length)
	for j := begin; j < begin+length; j++ {
		b.pins[j] = tile
	}
	b.used += length
}

func (b *board) pop(probe *stream, lanes int, isUsed bool) int {
	limit, tries := len(b.pins), 0
	if isUsed {
		limit = b.start[len(b.start)-1]
	}
	tile := noTile
	for tile == noTile {
		tile = b.pins[probe.below(limit)]
		tries++
	}
	for j := b.first[tile]; j < b.last[tile]; j++ {
		b.pins[j] = noTile
	}
	b.live[b.slot[tile]] = false
	b.used -= b.last[tile] - b.first[tile]
	b.probes, b.rounds = b.probes+tries, b.rounds+(tries+lanes-1)/lanes
	return tile
}

func (b *board) cleanup() {
	live, tiles := b.live, b.tile
	for j := range b.pins {
		b.pins[j] = noTile
	}
	b.start, b.live, b.tile, b.used = []int{0}, nil, nil, 0
	for i, isLive := range live {
		if t := tiles[i]; isLive {
			b.add(b.node[t], t, b.last[t]-b.first[t])
		}
	}
	b.cleanups, b.moved = b.cleanups+1, b.moved+b.used
}

func (b *board) grow() {
	for left := len(b.pins); left > 0; left-- {
		b.pins = append(b.pins, noTile)
	}
}

func pinTile(args object) (compute, error) {
	a, err := frontierArguments(args)
	if err != nil {
		return nil, err
	}
	eta, errEta := real64(args["eta"])
	lanes, errLanes := integer(args["lanes"], 1, maxInt32)
	err = firstOf(errEta, errLanes, choice(args["probe_range"], "capacity", "used"),
		choice(args["overflow"], "truncate", "grow"))
	sum := 0
	for v := 0; v < a.g.n; v++ {
		sum += a.weight(v)
	}
	planned := eta * float64(a.m) * (float64(sum) / float64(a.g.n))
	if err == nil && (!(eta > 1) || math.IsInf(eta, 0) || !(planned < 1<<32)) {
		err = errValue
	}
	isUsed, doesGrow := args["probe_range"] == "used", args["overflow"] == "grow"
	return func(func(object)) any {
		return pinned(a, int(math.Ceil(planned)), int(lanes), isUsed, doesGrow)
	}, err
}

func pinned(a frontierArgs, capacity, lanes int, isUsed, doesGrow bool) any {
	main, probe := &stream{k: a.main}, &stream{k: a.probe}
	roots := main.pick(a.g.n, a.m)
	needed, sample := 0, map[int]bool{}
	for _, v := range roots {
		needed += a.weight(v)
		sample[v] = true
	}
	if capacity < needed {
		capacity = needed
	}
	b := &board{pins: make([]int, capacity), start: []int{0}}
	b.node, b.first = make([]int, a.m), make([]int, a.m)
	b.last, b.slot = make([]int, a.m), make([]int, a.m)
	for j := range b.pins {
		b.pins[j] = noTile
	}
	for t, v := range roots {
		b.add(v, t, a.weight(v))
	}
	popped, pushed := []int{}, []int{}
	for len(popped) < a.n-a.m && b.used > 0 {
		tile := b.pop(probe, lanes, isUsed)
		u := b.node[tile]
		v := main.neighbour(a.g, u)
		weight := a.weight(v)
		if weight > b.free() {
			b.cleanup()
		}
		for doesGrow && weight > b.free() {
			b.grow()
		}
		length := weight
		if length > b.free() {
			length = b.free()
			b.truncated++
		}
		b.add(v, tile, length)
		popped, pushed = append(popped, u), append(pushed, v)
		sample[map[bool]int{true: v, false: u}[a.isPushed]] = true
	}
	return nodeSample(a.g, sample, popped, pushed, main.c, object{
		"probes": b.probes, "rounds": b.rounds, "cleanups": b.cleanups, "moved": b.moved,
		"truncated": b.truncated, "capacity": len(b.pins),
	})
}

func bucket(args object) (compute, error) {
	a, err := frontierArguments(args)
	if err != nil {
		return nil, err
	}
	heaviest := 0
	for v := 0; v < a.g.n; v++ {
		if w := a.weight(v); w > heaviest {
			heaviest = w
		}
	}
	classes := bits.Len(uint(heaviest))
	if a.m<<classes >= 1<<53 {
		return nil, errValue
	}
	return func(func(object)) any { return bucketed(a, classes) }, nil
}

func bucketed(a frontierArgs, classes int) any {
	main, probe := &stream{k: a.main}, &stream{k: a.probe}
	front, sample := main.pick(a.g.n, a.m), map[int]bool{}
	members, sums := make([][]int, classes), make([]int, classes)
	total, probes := 0, 0
	join := func(slot int) {
		if w := a.weight(front[slot]); w > 0 {
			j := bits.Len(uint(w)) - 1
			members[j] = append(members[j], slot)
			sums[j], total = sums[j]+w, total+w
		}
	}
	for slot, v := range front {
		sample[v] = true
		join(slot)
	}
	popped, pushed := []int{}, []int{}
	for len(popped) < a.n-a.m && total > 0 {
		t, j := probe.below(total), classes-1
		for ; t >= sums[j]; j-- {
			t -= sums[j]
		}
		bound, place, isTaken := 2<<j, 0, false
		for !isTaken {
			drawn := probe.below(len(members[j]) * bound)
			probes++
			place = drawn / bound
			isTaken = drawn%bound < a.weight(front[members[j][place]])
		}
		slot := members[j][place]
		last := len(members[j]) - 1
		members[j][place] = members[j][last]
		members[j] = members[j][:last]
		u := front[slot]
		sums[j], total = sums[j]-a.weight(u), total-a.weight(u)
		v := main.neighbour(a.g, u)
		front[slot] = v
		join(slot)
		popped, pushed = append(popped, u), append(pushed, v)
		sample[map[bool]int{true: v, false: u}[a.isPushed]] = true
	}
	more := object{"probes": probes, "rounds": len(popped)}
	return nodeSample(a.g, sample, popped, pushed, main.c, more)
}

// ---- Other samplers ----

func edge(args object) (compute, error) {
	g, err := undirected(args["graph"])
	if err != nil {
		return nil, err
	}
	k, errK := word(args["main"])
	b, errB := integer(args["b"], 1, maxInt32)
	return func(func(object)) any {
		main, sample := &stream{k: k}, map[int]bool{}
		drawn := direct(g)
		if args["method"] == "alias" {
			drawn = byAlias(g)
		}
		popped, pushed := []int{}, []int{}
		for i := 0; i < int(b) && len(g.indices) > 0; i++ {
			u, v := drawn(main)
			sample[u], sample[v] = true, true
			popped, pushed = append(popped, u), append(pushed, v)
		}
		return nodeSample(g, sample, popped, pushed, main.c, object{})
	}, firstOf(errK, errB, choice(args["method"], "direct", "alias"))
}

func direct(g graph) func(*stream) (int, int) {
	nodes := []int{}
	for v := 0; v < g.n; v++ {
		if len(g.near(v)) > 0 {
			nodes = append(nodes, v)
		}
	}
	return func(main *stream) (int, int) {
		u := nodes[main.below(len(nodes))]
		return u, main.neighbour(g, u)
	}
}

func byAlias(g graph) func(*stream) (int, int) {
	var lower, higher []int
	var weights []float64
	for u := 0; u < g.n; u++ {
		for _, v := range g.near(u) {
			if u <= v {
				weight := 1 / float64(len(g.near(u)))
				if u < v {
					weight += 1 / float64(len(g.near(v)))
				}
				lower, higher, weights = append(lower, u), append(higher, v), append(weights, weight)
			}
		}
	}
	prob, alias := aliasTable(weights)
	return func(main *stream) (int, int) {
		e := main.below(len(prob))
		if main.uniform() >= prob[e] {
			e = alias[e]
		}
		return lower[e], higher[e]
	}
}

// walks makes walks from roots; steps says how many the walk of a number has.
func walks(g graph, k uint64, roots int, steps func(int) int) any {
	main, sample := &stream{k: k}, map[int]bool{}
	popped, pushed := []int{}, []int{}
	for i, u := range main.pick(g.n, roots) {
		sample[u] = true
		for left := steps(i); left > 0 && len(g.near(u)) > 0; left-- {
			popped = append(popped, u)
			u = main.neighbour(g, u)
			pushed = append(pushed, u)
			sample[u] = true
		}
	}
	return nodeSample(g, sample, popped, pushed, main.c, object{})
}

func randomWalk(args object) (compute, error) {
	g, err := undirected(args["graph"])
	if err != nil {
		return nil, err
	}
	k, errK := word(args["main"])
	r, errR := integer(args["r"], 1, uint64(g.n))
	if errR != nil {
		return nil, errR
	}
	h, errH := integer(args["h"], 0, maxInt32/r-1)
	steps := func(int) int { return int(h) }
	return func(func(object)) any { return walks(g, k, int(r), steps) }, firstOf(errK, errH)
}

func multipleWalks(args object) (compute, error) {
	g, err := undirected(args["graph"])
	if err != nil {
		return nil, err
	}
	k, errK := word(args["main"])
	m, errM := integer(args["m"], 1, uint64(g.n))
	n, errN := integer(args["n"], m, maxInt32)
	steps := func(i int) int {
		each := int((n - m) / m)
		if i < int((n-m)%m) {
			each++
		}
		return each
	}
	return func(func(object)) any { return walks(g, k, int(m), steps) }, firstOf(errK, errM, errN)
}

func forestFire(args object) (compute, error) {
	g, err := undirected(args["graph"])
	if err != nil {
		return nil, err
	}
	k, errK := word(args["main"])
	n, errN := integer(args["n"], 1, maxInt32)
	p, errP := real64(args["p_f"])
	if errP == nil && !(p >= 0 && p <= 1) {
		errP = errValue
	}
	return func(func(object)) any { return burned(g, k, int(n), p) }, firstOf(errK, errN, errP)
}

func burned(g graph, k uint64, n int, p float64) any {
	if n > g.n {
		n = g.n
	}
	main, sample := &stream{k: k}, map[int]bool{}
	unburned, place := make([]int, g.n), make([]int, g.n)
	for v := range unburned {
		unburned[v], place[v] = v, v
	}
	burn := func(v int) {
		last := unburned[len(unburned)-1]
		unburned[place[v]], place[last] = last, place[v]
		unburned = unburned[:len(unburned)-1]
		sample[v] = true
	}
	popped, pushed := []int{}, []int{}
	for len(sample) < n {
		start := unburned[main.below(len(unburned))]
		burn(start)
		for queue := []int{start}; len(queue) > 0 && len(sample) < n; queue = queue[1:] {
			u, near := queue[0], []int{}
			for _, v := range g.near(u) {
				if !sample[v] {
					near = append(near, v)
				}
			}
			count := 0
			for count < len(near) && main.uniform() < p {
				count++
			}
			if count > n-len(sample) {
				count = n - len(sample)
			}
			for _, i := range main.pick(len(near), count) {
				burn(near[i])
				queue = append(queue, near[i])
				popped, pushed = append(popped, u), append(pushed, near[i])
			}
		}
	}
	return nodeSample(g, sample, popped, pushed, main.c, object{})
}

// ---- Many subgraphs ----

func keyOf(parts ...uint64) (a uint64) {
	for _, part := range parts {
		a = mixWord(a + gold + part)
	}
	return a
}

func sampleMany(args object) (compute, error) {
	g, err := undirected(args["graph"])
	sampler, _ := args["sampler"].(object)
	if sampler["type"] != "Sampler" {
		return nil, errType
	}
	parts, _ := sampler["fields"].(object)
	options, _ := parts["options"].(object)
	given, _ := options["fields"].(object)
	called, _ := parts["name"].(string)
	clip, errClip := uint64(1), error(nil)
	if parts["clip"] != nil {
		clip, errClip = integer(parts["clip"], 1, maxInt32)
	}
	seed, errSeed := word(args["rng"])
	first, errFirst := integer(args["first"], 0, 1<<63-1)
	count, errCount := integer(args["count"], 0, maxInt32)
	domain, errDomain := integer(args["domain"], 0, 1)
	err = firstOf(err, errClip, errSeed, errFirst, errCount, errDomain)
	if err != nil {
		return nil, err
	}
	runs := make([]compute, count)
	for q := range runs {
		asked := object{"graph": args["graph"]}
		for option, value := range given {
			asked[option] = value
		}
		for i, argument := range []string{"main", "probe"} {
			asked[argument] = strconv.FormatUint(keyOf(seed, domain, first+uint64(q), uint64(i)), 10)
		}
		if runs[q], err = kernels[called](asked); err != nil {
			return nil, err
		}
	}
	return func(func(object)) any {
		made := make([]any, count)
		for q, run := range runs {
			k := keyOf(seed, domain, first+uint64(q), 0)
			made[q] = clipped(g, run(nil).(object)["fields"].(object), k, int(clip))
		}
		return made
	}, nil
}

func clipped(g graph, sample object, k uint64, unit int) any {
	nodes := sample["nodes"].(object)["data"].([]int)
	counts := sample["counters"].(object)
	over := 0
	if len(nodes) >= unit {
		over = len(nodes) % unit
	}
	dropped := map[int]bool{}
	draws := drawsOf(counts)
	for _, i := range pick(k, draws, len(nodes), over) {
		dropped[i] = true
	}
	kept := []int{}
	for i, v := range nodes {
		if !dropped[i] {
			kept = append(kept, v)
		}
	}
	return subgraphOf(g, kept, counts)
}

func drawsOf(counts object) uint64 {
	switch draws := counts["fields"].(object)["draws"].(type) {
	case int: // of frontier
		return uint64(draws)
	case uint64:
		return draws
	}
	return 0
}
