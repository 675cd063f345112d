package locate

import "qss-filter/symsrc"

// watched is a file that was found, or looked for in vain: then its stamp is the zero one.
type watched struct {
	path string
	stamp
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
		now, _ := stampAt(files.Elf, true)
		list = append(list, watched{files.Elf, now})
	}
	files.Watch = symsrc.NewWatch(func() bool {
		for _, w := range list {
			if now, err := stampAt(w.path, true); err == nil && now != w.stamp {
				return true
			}
		}
		return false
	})
}
