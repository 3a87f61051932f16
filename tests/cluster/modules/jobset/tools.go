//go:build tools

// Package tools names the programs that the harness builds, so that go.sum pins them.
package tools

import (
	_ "sigs.k8s.io/jobset"
)
