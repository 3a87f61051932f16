//go:build tools

// Package tools names the programs that the harness builds, so that go.sum pins them.
package tools

import (
	_ "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"
)
