//go:build tools

// Package tools names the program that is built, so that go.sum pins it.
package tools

import _ "sigs.k8s.io/kubectl-validate"
