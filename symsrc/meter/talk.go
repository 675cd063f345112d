package meter

import (
	"context"
	"fmt"
	"sync"

	"qss-filter/symsrc"
)

// Talk returns a finder that reports the start and the result of each search for a module.
func Talk(f symsrc.Finder, say func(message string)) symsrc.Finder {
	return &talker{f: f, say: say, told: map[symsrc.Module]string{}}
}

// maxTold bounds the remembered modules.
const maxTold = 1 << 14

type talker struct {
	f   symsrc.Finder
	say func(string)

	mu   sync.Mutex
	told map[symsrc.Module]string // what was said last of each
}

func (t *talker) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if t.first(m) {
		t.say("search for " + title(m))
	}
	files := t.f.Find(ctx, m)
	text := outcome(files)
	t.mu.Lock()
	before := t.told[m]
	t.told[m] = text
	t.mu.Unlock()
	if before != text {
		t.say(title(m) + ": " + text)
	}
	return files
}

// first reports whether nothing was said of a module.
func (t *talker) first(m symsrc.Module) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.told[m]; known {
		return false
	}
	if len(t.told) >= maxTold {
		clear(t.told)
	}
	t.told[m] = ""
	return true
}

// title is `libf.so (BuildId: …)`.
func title(m symsrc.Module) string {
	name := m.Name
	if m.Member != "" {
		name += "!" + m.Member
	}
	if m.BuildID == "" {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q (BuildId: %s)", name, m.BuildID)
}

// outcome says what a search has found.
func outcome(f *symsrc.Files) string {
	if f == nil {
		return "not searched for"
	}
	elf, debug := f.ElfRange.Of(f.Elf), f.DebugRange.Of(f.Debug)
	text := ""
	switch {
	case !f.Usable():
		text = f.Reason().String()
		if f.Note != "" {
			text += ": " + f.Note
		}
		text += fmt.Sprintf("; looked at %d places", len(f.Tried))
	case debug == "":
		text = fmt.Sprintf("from %q", elf)
	case elf == "" || f.ElfStatus != symsrc.OK && f.ElfStatus != symsrc.Incomplete:
		text = fmt.Sprintf("debug information from %q", debug)
	default:
		text = fmt.Sprintf("from %q, debug information from %q", elf, debug)
	}
	if f.Unverified {
		text += " (unverified: by name alone)"
	}
	if f.Retry != nil {
		text += "; the search goes on"
	}
	return text
}
