package output

import (
	"runtime/debug"
	"sync"
)

const modulePath = "github.com/dorisload/benthos-doris"

// moduleVersion is the version of this module in the running program, for instance "v1.2.3", or "(devel)" when the program was built from a work tree.
var moduleVersion = sync.OnceValue(func() string {
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
