package locate

import (
	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// watched is a file that was found, or one that was missing: then its stamp is zero.
type watched struct {
	path string
	diskcache.Stamp
}

// watch sets the functions of files that report whether a found file has been replaced, and whether a missing one exists now. A removed
// file does not count as replaced. It also sets when the files were changed.
func (v *pair) watch(files *symsrc.Files) {
	list := make([]watched, 0, 2)
	for _, f := range [...]*found{v.elf, v.debug, v.spare} {
		if f != nil && (f.path == files.Elf || f.path == files.Debug) {
			list = append(list, watched{f.opened, f.stamp})
			if at := f.stamp.Last(); at.After(files.Changed) {
				files.Changed = at
			}
		}
	}
	if v.elf == nil && files.Elf != "" {
		now, _ := diskcache.StampAt(files.Elf, true)
		list = append(list, watched{files.Elf, now})
	}
	files.Watch = symsrc.NewWatch(func() bool {
		for _, w := range list {
			if now, err := diskcache.StampAt(w.path, true); err == nil && now != w.Stamp {
				return true
			}
		}
		return false
	})
}
