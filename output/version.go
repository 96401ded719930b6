package output

import (
	"runtime/debug"
	"sync"
)

const modulePath = "github.com/dorisload/benthos-doris"

// stamp is the version that the linker sets (LDFLAGS in the Makefile); a work tree that Go does not stamp has no other.
var stamp string

// moduleVersion is the version of this module in the running program, for instance "v1.2.3", or "(devel)" when the program was built from a work tree.
var moduleVersion = sync.OnceValue(func() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	if info.Main.Path == modulePath && info.Main.Version != "" {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path != modulePath {
			continue
		}
		if dep.Replace != nil {
			return dep.Replace.Version + " (replaced)"
		}
		return dep.Version
	}
	return "(devel)"
})
