// The beginning of a port in Go: answers mix, key, uniform and below, and skips all other kernels.
//
//	go build -o starter starter.go && minibatch-gnn conformance --cmd ./starter
//
// To add a kernel, write a function of its arguments, as below, which returns errType or errValue
// for what the kernel's page says, or else a function that computes the result, and name it in
// kernels. What computes is apart from what reads, since it alone is timed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"os"
	"time"
)

type object = map[string]any
type compute = func() any

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
		return func() any { return draw(c) }, err
	}
	if array["dtype"] != "uint64" {
		return nil, errType
	}
	data, _ := array["data"].([]any)
	words, err := wordsOf(data)
	return func() any {
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
	return func() any {
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

var kernels = map[string]func(object) (compute, error){
	"mix": mix, "key": key, "uniform": uniform, "below": below,
}

// ---- Questions ----

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
	name, _ := question["call"].(string)
	args, _ := question["args"].(object)
	if _, isGreeting := question["hello"]; isGreeting {
		said["name"], said["version"] = "starter.go", "1"
	} else if kernel := kernels[name]; kernel == nil {
		said["skip"] = "not implemented"
	} else if run, err := kernel(args); err != nil {
		said["error"] = err.Error()
	} else {
		said["result"] = run()
		if rounds, err := integer(question["time"], 1, 1_000_000); err == nil {
			said["nanoseconds"] = timed(run, rounds)
		}
	}
	return said
}

func timed(run compute, rounds uint64) []int64 {
	took := make([]int64, rounds)
	for i := range took {
		begin := time.Now()
		run()
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
