package emulator

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

var hosts atomic.Uint32

// ownHost is an address of 127.0.0.0/8 that no other caller gets, in this process or in others that run at the same time, or 127.0.0.1 where the
// system answers to no other.
func ownHost() string {
	pid, n := os.Getpid(), hosts.Add(1)
	host := fmt.Sprintf("127.%d.%d.%d", 2+pid%250, pid/250%250, 1+n%250)
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", host+":0")
	if err != nil {
		return "127.0.0.1"
	}
	_ = l.Close()
	return host
}
