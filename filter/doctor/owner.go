package doctor

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// Owner asks the machine's package manager whose file that is, and says how its debug information is installed: dpkg of Debian,
// rpm of Fedora and SUSE. Both are "" where there is no answer.
func Owner(path string) (name, install string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "dpkg-query", "--search", "--", path).Output(); err == nil {
		return debian(string(out))
	}
	if out, err := exec.CommandContext(ctx, "rpm", "--query", "--file", "--queryformat", "%{NAME}\n", "--", path).Output(); err == nil {
		name, _, _ = strings.Cut(string(out), "\n")
		return name, "dnf debuginfo-install " + name
	}
	return "", ""
}

// debian reads `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`. The debug information of a package is in another one, whose name ends
// in -dbgsym and which is in an archive of its own; few packages, libc among them, have one that ends in -dbg.
func debian(line string) (name, install string) {
	line, _, _ = strings.Cut(line, "\n")
	name, _, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " /") {
		return "", ""
	}
	if name == "libc6" {
		return name, "apt-get install libc6-dbg"
	}
	return name, "apt-get install " + name + "-dbgsym    # from debian-debug, or ddebs.ubuntu.com"
}
