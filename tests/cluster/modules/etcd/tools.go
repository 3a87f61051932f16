//go:build tools

// Package tools names the programs that the harness builds, so that go.sum pins them.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
