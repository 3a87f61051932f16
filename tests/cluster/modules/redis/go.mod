module mlspec.dev/cluster/redis

go 1.17

require (
	github.com/alicebob/miniredis/v2 v2.35.0
	github.com/yuin/gopher-lua v1.1.1
)
