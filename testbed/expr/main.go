// The real expr library, for comparison. It reads one case per line ({"expression": "...", "result": ...}), evaluates it
// in the environment that analysis templates see, and answers with one line: {"type": "int", "value": "3"} or
// {"error": "..."}. Types are visible in the answers, lists and maps are answered as lists of answers, and the time of
// day is always the same.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"sort"
	"strconv"
	"time"

	"github.com/expr-lang/expr"
)

type question struct {
	Expression string `json:"expression"`
	Result     any    `json:"result"`
}

type answer struct {
	Type  string `json:"type,omitempty"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

// now is what now() says.
var now = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, "expr: a line that is not a case:", err)
			os.Exit(1)
		}
		if err := answers.Encode(evaluate(asked)); err != nil {
			fmt.Fprintln(os.Stderr, "expr:", err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "expr:", err)
		os.Exit(1)
	}
}

func evaluate(asked question) (said answer) {
	// A helper of the environment fails by a panic; the machine of the library catches it, its compiler does not.
	defer func() {
		if problem := recover(); problem != nil {
			said = answer{Error: fmt.Sprint(problem)}
		}
	}()
	result := special(asked.Result)
	environment := map[string]any{
		"result":  result,
		"asInt":   asInt,
		"asFloat": asFloat,
		"isNaN":   math.IsNaN,
		"isInf":   func(number float64) bool { return math.IsInf(number, 0) },
		// As upstream: both look at the whole result, whatever they are given.
		"isNil": func(any) bool { return result == nil },
		"default": func(_, otherwise any) any {
			if result == nil {
				return otherwise
			}
			return result
		},
	}
	clock := expr.Function("now", func(...any) (any, error) { return now, nil }, new(func() time.Time))
	program, err := expr.Compile(asked.Expression, expr.Env(environment), clock)
	if err != nil {
		return answer{Error: err.Error()}
	}
	value, err := expr.Run(program, environment)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return describe(reflect.ValueOf(value))
}

// special turns {"$float": "NaN"}, {"$int": "3"} and {"$floats": [0.5, "NaN"]} into values that JSON cannot say. The last
// one is what upstream hands on for a vector of Prometheus: []float64, of which the library knows more than of any list.
func special(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if text, ok := value["$float"].(string); ok {
			number, _ := strconv.ParseFloat(text, 64)
			return number
		}
		if text, ok := value["$int"].(string); ok {
			number, _ := strconv.Atoi(text)
			return number
		}
		if list, ok := value["$floats"].([]any); ok {
			return floats(list)
		}
		for key, inner := range value {
			value[key] = special(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = special(inner)
		}
	}
	return value
}

func floats(list []any) []float64 {
	all := make([]float64, len(list))
	for index, inner := range list {
		switch inner := inner.(type) {
		case float64:
			all[index] = inner
		case string:
			all[index], _ = strconv.ParseFloat(inner, 64)
		}
	}
	return all
}

func asInt(value any) int64 {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case int:
		return int64(value)
	case int64:
		return value
	case string:
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			panic(err)
		}
		return number
	}
	panic(fmt.Sprintf("asInt() not supported on %T", value))
}

func asFloat(value any) float64 {
	switch value := value.(type) {
	case float64:
		return value
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case string:
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			panic(err)
		}
		return number
	}
	panic(fmt.Sprintf("asFloat() not supported on %T", value))
}

func describe(value reflect.Value) answer {
	for value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() {
		return answer{Type: "nil"}
	}
	switch known := value.Interface().(type) {
	case time.Time:
		return answer{Type: "time", Value: known.UTC().Format(time.RFC3339Nano)}
	case time.Duration:
		return answer{Type: "duration", Value: strconv.FormatInt(int64(known), 10)}
	}
	switch value.Kind() {
	case reflect.Bool:
		return answer{Type: "bool", Value: strconv.FormatBool(value.Bool())}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return answer{Type: "int", Value: strconv.FormatInt(value.Int(), 10)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return answer{Type: "uint", Value: strconv.FormatUint(value.Uint(), 10)}
	case reflect.Float32, reflect.Float64:
		return answer{Type: "float", Value: strconv.FormatFloat(value.Float(), 'g', -1, 64)}
	case reflect.String:
		return answer{Type: "string", Value: value.String()}
	case reflect.Slice, reflect.Array:
		inner := make([]answer, value.Len())
		for index := range inner {
			inner[index] = describe(value.Index(index))
		}
		return answer{Type: "array", Value: inner}
	case reflect.Map:
		inner := make([][2]answer, 0, value.Len())
		for _, key := range value.MapKeys() {
			inner = append(inner, [2]answer{describe(key), describe(value.MapIndex(key))})
		}
		sort.Slice(inner, func(a, b int) bool { return fmt.Sprint(inner[a][0].Value) < fmt.Sprint(inner[b][0].Value) })
		return answer{Type: "map", Value: inner}
	}
	return answer{Type: value.Type().String()}
}
