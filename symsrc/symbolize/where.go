package symbolize

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Where tells how a module is found: by its build ID, in hexadecimal digits, or by its path. found is false where nothing of it
// can be used.
func Where(ctx context.Context, f symsrc.Finder, what string, out io.Writer) (found bool, err error) {
	m := symsrc.Module{Name: what}
	if id, ok := symsrc.ParseBuildID([]byte(what)); ok && len(id) >= 4 && !strings.ContainsRune(what, filepath.Separator) {
		m = symsrc.Module{BuildID: id}
	} else if m.Name, err = filepath.Abs(what); err != nil {
		return false, err
	}
	files := f.Find(ctx, m)
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	var b strings.Builder
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", key, symsrc.Visible(value))
		}
	}
	row("module", m.Name)
	row("build ID", m.BuildID.String())
	row("program", strings.TrimSpace(files.ElfStatus.String()+" "+files.ElfRange.Of(files.Elf)))
	row("debug", strings.TrimSpace(files.DebugStatus.String()+" "+files.DebugRange.Of(files.Debug)))
	for _, path := range files.Symbols {
		row("symbols", path)
	}
	if files.Unverified {
		row("note", "unverified: there is no build ID to compare")
	}
	row("note", files.Note)
	row("detail", files.Detail)
	for i, place := range files.Tried {
		if i < len(files.Lacked) && files.Lacked[i] != "" {
			place += " (" + files.Lacked[i] + ")"
		}
		row("tried", place)
	}
	_, err = io.WriteString(out, b.String())
	return files.Usable() || len(files.Symbols) > 0, err
}
