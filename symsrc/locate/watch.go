package locate

import (
	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// watched is a file that was found, or looked for in vain: then its stamp is the zero one.
type watched struct {
	path string
	diskcache.Stamp
}

// watch lets files tell whether what was found is another file by now, and whether what was not found is there. A file that
// is gone is no other one.
func (v *pair) watch(files *symsrc.Files) {
	list := make([]watched, 0, 2)
	for _, f := range [...]*found{v.elf, v.debug, v.spare} {
		if f != nil && (f.path == files.Elf || f.path == files.Debug) {
			list = append(list, watched{f.opened, f.stamp})
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
