package batch

import (
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Path returns the absolute path of a module that a request or an argument names. Nothing below /proc, /sys and /dev is read, but
// /proc/PID/exe and /proc/PID/root/FILE name files elsewhere: their paths are returned, if the file there is the same one. It is not for a
// process in another mount namespace, nor for a file that was removed. /proc/self is the process that reads it, which is not the one that
// the caller means, and stays as it is.
func Path(name string) string {
	path, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	process, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return inDSYM(path)
	}
	pid, link, _ := strings.Cut(process, "/")
	if strings.Trim(pid, "0123456789") != "" {
		return path
	}
	target := ""
	if link == "exe" {
		target, _ = os.Readlink(path)
	} else if file, ok := strings.CutPrefix(link, "root/"); ok {
		target = "/" + file
	}
	if !filepath.IsAbs(target) {
		return path
	}
	one, err := os.Stat(path)
	if err != nil {
		return path
	}
	if other, err := os.Stat(target); err == nil && os.SameFile(one, other) {
		return target
	}
	return path
}

// inDSYM returns the file with the debug information in the dSYM at path, which is a directory, if it has a single one, otherwise path.
func inDSYM(path string) string {
	if filepath.Ext(path) != ".dSYM" {
		return path
	}
	dir := filepath.Join(path, "Contents", "Resources", "DWARF")
	d, err := os.Open(dir)
	if err != nil {
		return path
	}
	defer d.Close()
	list, _ := d.Readdirnames(2)
	if len(list) != 1 {
		return path
	}
	return filepath.Join(dir, list[0])
}

// Module returns the module of a file that a request or an argument names: FILE, or FILE:ARCH for one of the architectures of a Mach-O file.
// Files of a single one are read whatever is named. arch, if not "", is that of files of which none is named.
func Module(name, arch string) symsrc.Module {
	m := symsrc.Module{Name: Path(name)}
	if i := strings.LastIndexByte(name, ':'); i > 0 && symsrc.IsArch(name[i+1:]) {
		if _, missing := os.Stat(m.Name); missing != nil {
			m.Name, arch = Path(name[:i]), name[i+1:]
		}
	}
	if arch != "" && isFat(m.Name) {
		m.Arch = arch
	}
	return m
}

// isFat reports whether the file at path has several architectures. (<mach-o/fat.h>; a class file of Java has its version in place of their
// number.)
func isFat(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const magic, maxSlices = "\xca\xfe\xba", 32
	var b [8]byte
	_, err = f.ReadAt(b[:], 0)
	return err == nil && string(b[:3]) == magic && (b[3] == 0xbe || b[3] == 0xbf) && b[4]|b[5]|b[6] == 0 && b[7] <= maxSlices
}
