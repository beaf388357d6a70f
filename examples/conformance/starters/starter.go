// The beginning of a port in Go: answers the streams (mix, key, uniform, below) and one sampler
// (pick_without_replacement, frontier), and skips all other kernels.
//
//	go build -o starter starter.go && minibatch-gnn conformance --cmd ./starter
//
// To add a kernel, write a function of its arguments, as below, which returns errType or errValue
// for what the kernel's page says, or else a function that computes the result, and name it in
// kernels. What computes is apart from what reads, since it alone is timed. frontier shows how to
// read a graph and how to return named values and states.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"os"
	"sort"
	"time"
)

type object = map[string]any

// A compute returns the result; a kernel that works in steps calls note, if there is one, with the
// state before the first step and after each.
type compute = func(note func(object)) any

var (
	errType  = errors.New("type")
	errValue = errors.New("value")
)

// ---- Arguments ----

// integer returns an integer in [low, high]: a decimal string is one, 2.0 and true are not.
func integer(value any, low, high uint64) (uint64, error) {
	var text string
	switch v := value.(type) {
	case json.Number: // as it is written
		text = v.String()
	case string:
		text = v
	}
	whole, isInteger := new(big.Int).SetString(text, 10)
	if !isInteger || text[0] == '+' {
		return 0, errType
	}
	if !whole.IsUint64() || whole.Uint64() < low || whole.Uint64() > high {
		return 0, errValue
	}
	return whole.Uint64(), nil
}

func word(value any) (uint64, error) { return integer(value, 0, 1<<64-1) }

// each computes what draw gives for a counter, or for each of an array of uint64.
func each[T any](counters any, dtype string, draw func(uint64) T) (compute, error) {
	array, isArray := counters.(object)
	if !isArray {
		c, err := word(counters)
		return func(func(object)) any { return draw(c) }, err
	}
	if array["dtype"] != "uint64" {
		return nil, errType
	}
	data, _ := array["data"].([]any)
	words, err := wordsOf(data)
	return func(func(object)) any {
		drawn := make([]T, len(words))
		for i, c := range words {
			drawn[i] = draw(c)
		}
		return object{"dtype": dtype, "shape": array["shape"], "data": drawn}
	}, err
}

func wordsOf(values []any) ([]uint64, error) {
	words := make([]uint64, len(values))
	for i, value := range values {
		var err error
		if words[i], err = word(value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// ---- Streams ----

const gold = 0x9E3779B97F4A7C15

func mixWord(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
	x = (x ^ (x >> 27)) * 0x94D049BB133111EB
	return x ^ (x >> 31)
}

func draw(k, c uint64) float64 { return float64(mixWord(k+gold*(c+1))>>11) / (1 << 53) }

func mix(args object) (compute, error) { return each(args["x"], "uint64", mixWord) }

func key(args object) (compute, error) {
	parts, _ := args["parts"].([]any)
	words, err := wordsOf(parts)
	return func(func(object)) any {
		var a uint64
		for _, part := range words {
			a = mixWord(a + gold + part)
		}
		return a
	}, err
}

func uniform(args object) (compute, error) {
	k, err := word(args["k"])
	if err != nil {
		return nil, err
	}
	return each(args["c"], "float64", func(c uint64) float64 { return draw(k, c) })
}

func below(args object) (compute, error) {
	k, err := word(args["k"])
	if err != nil {
		return nil, err
	}
	n, err := integer(args["n"], 1, 1<<53-1)
	if err != nil {
		return nil, err
	}
	return each(args["c"], "int64", func(c uint64) int64 { return int64(draw(k, c) * float64(n)) })
}

// ---- A sampler ----

const maxInt32 = 1<<31 - 1

// graph has n nodes: the neighbours of v are indices[indptr[v]:indptr[v+1]].
type graph struct {
	n               int
	indptr, indices []int
}

func listOf(value any) []int {
	if array, isArray := value.(object); isArray { // as a long list is written
		value = array["data"]
	}
	values, _ := value.([]any)
	list := make([]int, len(values))
	for i, value := range values {
		whole, _ := integer(value, 0, maxInt32)
		list[i] = int(whole)
	}
	return list
}

func graphOf(value any) (g graph, err error) {
	outside, _ := value.(object)
	inside, isGraph := outside["graph"].(object)
	if !isGraph {
		return g, errType
	}
	g.indptr, g.indices = listOf(inside["indptr"]), listOf(inside["indices"])
	g.n = len(g.indptr) - 1
	return g, nil
}

func (g graph) near(v int) []int { return g.indices[g.indptr[v]:g.indptr[v+1]] }

func (g graph) isUndirected() bool {
	edges := map[[2]int]bool{}
	for v := 0; v < g.n; v++ {
		for _, u := range g.near(v) {
			edges[[2]int{v, u}] = true
		}
	}
	for edge := range edges {
		if !edges[[2]int{edge[1], edge[0]}] {
			return false
		}
	}
	return true
}

func ids(list []int) object {
	return object{"dtype": "int32", "shape": []int{len(list)}, "data": list}
}

func drawBelow(k, c uint64, n int) int { return int(draw(k, c) * float64(n)) }

func pick(k, c uint64, total, m int) []int {
	deck := map[int]int{} // the cards that are not in their own place
	at := func(i int) int {
		if card, moved := deck[i]; moved {
			return card
		}
		return i
	}
	picked := make([]int, m)
	for i := range picked {
		j := i + drawBelow(k, c+uint64(i), total-i)
		picked[i] = at(j)
		deck[j] = at(i)
	}
	return picked
}

func pickWithoutReplacement(args object) (compute, error) {
	k, errK := word(args["k"])
	c, errC := word(args["c"])
	total, errN := integer(args["N"], 0, maxInt32)
	m, errM := integer(args["m"], 0, total)
	return func(func(object)) any {
		return ids(pick(k, c, int(total), int(m)))
	}, firstOf(errK, errC, errN, errM)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func frontier(args object) (compute, error) {
	g, err := graphOf(args["graph"])
	if err != nil {
		return nil, err
	}
	mainKey, errMain := word(args["main"])
	probe, errProbe := word(args["probe"])
	m, errM := integer(args["m"], 1, uint64(g.n))
	n, errN := integer(args["n"], m, maxInt32)
	limit, errCap := uint64(maxInt32), error(nil)
	if args["deg_cap"] != nil {
		limit, errCap = integer(args["deg_cap"], 1, maxInt32)
	}
	isPushed := args["include"] == "pushed"
	if !g.isUndirected() || !isPushed && args["include"] != "popped" {
		err = errValue
	}
	return func(note func(object)) any {
		return walk(g, mainKey, probe, int(m), int(n-m), int(limit), isPushed, note)
	}, firstOf(errMain, errProbe, errM, errN, errCap, err)
}

func walk(g graph, mainKey, probe uint64, m, steps, limit int, isPushed bool, note func(object)) any {
	weight := func(v int) int {
		if len(g.near(v)) > limit {
			return limit
		}
		return len(g.near(v))
	}
	front := pick(mainKey, 0, g.n, m)
	sample := map[int]bool{}
	for _, v := range front {
		sample[v] = true
	}
	nodes := func() []int {
		list := make([]int, 0, len(sample))
		for v := range sample {
			list = append(list, v)
		}
		sort.Ints(list)
		return list
	}
	popped, pushed := []int{}, []int{}
	for {
		if note != nil {
			note(object{"frontier": append([]int{}, front...), "sample": nodes()})
		}
		total := 0
		for _, v := range front {
			total += weight(v)
		}
		if len(popped) == steps || total == 0 { // 0: only isolated nodes are left
			break
		}
		drawn, slot := drawBelow(probe, uint64(len(popped)), total), 0
		for ; drawn >= weight(front[slot]); slot++ {
			drawn -= weight(front[slot])
		}
		u := front[slot]
		v := g.near(u)[drawBelow(mainKey, uint64(m+len(popped)), len(g.near(u)))]
		front[slot] = v
		popped, pushed = append(popped, u), append(pushed, v)
		if isPushed {
			sample[v] = true
		} else {
			sample[u] = true
		}
	}
	degrees := func(list []int) (sum int) {
		for _, v := range list {
			sum += len(g.near(v))
		}
		return sum
	}
	made := len(popped)
	counters := object{
		"pops": made, "probes": made, "rounds": made, "draws": m + made,
		"cleanups": 0, "moved": 0, "truncated": 0, "capacity": 0,
		"popped_degree_sum": degrees(popped), "added_degree_sum": degrees(pushed),
	}
	return object{"fields": object{
		"nodes": ids(nodes()), "popped": ids(popped), "pushed": ids(pushed),
		"counters": object{"fields": counters},
	}}
}

var kernels = map[string]func(object) (compute, error){
	"mix": mix, "key": key, "uniform": uniform, "below": below,
	"pick_without_replacement": pickWithoutReplacement, "frontier": frontier,
}

// ---- Questions ----

var name = "starter.go"

func answer(line []byte) object {
	var question object
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	said := object{}
	if decoder.Decode(&question) != nil {
		return object{"fault": "the question cannot be read"}
	}
	if id, isThere := question["id"]; isThere {
		said["id"] = id
	}
	call, _ := question["call"].(string)
	args, _ := question["args"].(object)
	if _, isGreeting := question["hello"]; isGreeting {
		said["name"], said["version"] = name, "1"
	} else if kernel := kernels[call]; kernel == nil {
		said["skip"] = "not implemented"
	} else if run, err := kernel(args); err != nil {
		said["error"] = err.Error()
	} else if rounds, err := integer(question["time"], 1, 1_000_000); err == nil {
		said["result"], said["nanoseconds"] = run(nil), timed(run, rounds)
	} else {
		var states []object
		said["result"] = run(func(state object) { states = append(states, state) })
		if states != nil {
			said["states"] = states
		}
	}
	return said
}

func timed(run compute, rounds uint64) []int64 {
	took := make([]int64, rounds)
	for i := range took {
		begin := time.Now()
		run(nil)
		took[i] = time.Since(begin).Nanoseconds()
	}
	return took
}

func main() {
	input := bufio.NewReader(os.Stdin) // a Scanner would stop at a long line
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) > 0 {
			if output.Encode(answer(line)) != nil {
				return
			}
		}
		if err == io.EOF {
			return
		}
	}
}
