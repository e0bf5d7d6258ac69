// Pins the expr library that Argo Rollouts uses, with which our expressions are compared. A module of its own, so that a
// newer one rebuilds nothing else.
module windlass.dev/testbed/expr

go 1.24

require github.com/expr-lang/expr v1.17.8
