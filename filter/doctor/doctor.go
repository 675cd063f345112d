// Package doctor reports why frames of a log have no names, and what to do about it. Its advice is command lines of this
// program, so it names flags, as no other package below command does.
//
//	doctor.go   what the log contains, collected line by line
//	modules.go  how each module was searched for; lines that look nearly like frames, and why they are not
//	report.go   all of that in words
//	advice.go   what to try next
//	found.go    files that no flag names
//	process.go  whether a process that runs is the one that wrote the log
//	json.go     the same as JSON
package doctor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/unpack"
)

// Options are the log and the means to examine it.
type Options struct {
	// Log is the path of the log; "-" is standard input.
	Log string
	// Argv is a command whose output is the log, in place of Log, and Command runs it and passes what it writes through the filter.
	Argv    []string
	Command func(ctx context.Context, f *filter.Filter) error
	// Flags are the given flags, each one --NAME or --NAME=VALUE, and FileFlags those of them that say where
	// symbols are. The commands in the advice repeat them.
	Flags, FileFlags []string
	// New returns the filter that reads the log.
	New func(o jsonl.Options) (f *filter.Filter, end func(), err error)
	// Finder searches for the files of modules.
	Finder symsrc.Finder
	// Theme colors the report; nil for none.
	Theme *sgr.Theme
	// Roots is set if --rootfs names the file system of the log's machine.
	Roots bool
	// Servers are the debuginfod servers.
	Servers []string
	// States returns what is known of them after they were asked. It may be nil.
	States func() []debuginfod.State
	// ServersOff is set if no server may be asked.
	ServersOff bool
	// Cache returns what keeps the cache of answers from working, or nil.
	Cache func() error
	// Owner returns the name of the distribution's package that has a local file, and the command that installs its
	// debug information; both are "" if they are not known. It may be nil.
	Owner func(path string) (name, install string)
	// Process returns what this machine has under the ID of a process. It may be nil.
	Process func(pid string) Process
	// Search bounds how long files are looked for that no flag names; 0 for not at all.
	Search time.Duration
	// JSON is set if the report is a JSON object.
	JSON bool
	// Links are what the names of other tools under which this program is installed are for, a line each.
	Links []string

	written time.Time // when the log was last written, if that is known
}

// Run reads the log and writes the report. healthy reports whether there are frames and every one has a name. It
// fails if the log cannot be read or the report cannot be written.
func Run(ctx context.Context, o Options, out io.Writer) (healthy bool, err error) {
	if len(o.Argv) > 0 {
		return o.examine(ctx, nil, out)
	}
	in := os.Stdin
	if o.Log != "-" {
		if in, err = os.Open(o.Log); err != nil {
			return false, err
		}
		defer in.Close()
	}
	log, end, err := unpacked(in)
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.Log, err)
	}
	defer end()
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		o.written = info.ModTime()
	}
	return o.examine(ctx, log, out)
}

// unpacked returns the content of a file that is compressed, as the filter reads it. What is no regular file comes as it is.
func unpacked(in *os.File) (log io.Reader, end func(), err error) {
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return in, func() {}, nil // a directory fails when it is read
	}
	log, end, err = unpack.Reader(bufio.NewReader(in))
	if end == nil {
		end = func() {}
	}
	return log, end, err
}

// examine is Run for an open log, nil for a command.
func (o *Options) examine(ctx context.Context, in io.Reader, out io.Writer) (healthy bool, err error) {
	s := newSurvey()
	f, end, err := o.New(jsonl.Options{Each: s.line})
	if err != nil {
		return false, err
	}
	err = o.read(ctx, f, s, in)
	evidence := f.Ledger()
	end()
	if err != nil {
		return false, err
	}
	r := &report{Options: o, survey: s, evidence: evidence}
	for _, m := range s.ordered() {
		r.modules = append(r.modules, o.examined(ctx, m))
	}
	r.near = s.near.kinds()
	r.advise(ctx)
	if o.JSON {
		r.writeJSON()
	} else {
		r.write()
	}
	if _, err := out.Write(r.text.Bytes()); err != nil {
		return false, err
	}
	return s.all() > 0 && s.named() == s.all(), nil
}

// read passes the log through the filter.
func (o *Options) read(ctx context.Context, f *filter.Filter, s *survey, in io.Reader) error {
	if len(o.Argv) > 0 {
		return o.Command(ctx, f)
	}
	b := bufio.NewReaderSize(in, headLen)
	head, err := b.Peek(headLen)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	s.head = slices.Clone(head)
	if err := f.Run(ctx, b, io.Discard); err != nil {
		return fmt.Errorf("%s: %w", o.Log, err)
	}
	return nil
}

// headLen is how many of a log's first bytes are checked for the format of the file.
const headLen = 4096

// survey is what a log contains.
type survey struct {
	head  []byte // its first bytes
	lines int
	bytes int64
	// framed counts the lines with frames, stated those that define modules and mappings.
	framed, stated int
	// frames counts the frames by their outcome, unverified those whose file was found by name, cut32 those whose address was cut to
	// 32 bits.
	frames                       map[string]int
	unverified, cut32            int
	formats, prefixes, processes tally
	modules                      map[identity]*module
	malformed                    tally
	// unmapped are frames whose address no mapping covers, mapped the mappings; both are limited.
	unmapped []place
	mapped   []mapped
	// nowhere are frames that do not say enough for a query.
	nowhere tally
	long    int
	// cut is set if the last line has no end, and begun if the log begins in the middle of a stack.
	cut  bool
	last []byte
	// begun is the number of the first frame, if the log begins with it and it is not 0.
	begun uint64
	near  near
}

// identity identifies a module.
type identity struct {
	name string
	id   symsrc.BuildID
}

// module is one binary of the log.
type module struct {
	symsrc.Module
	frames, named, line int
	status              string
	reason, detail      string
	address             uint64 // of the first frame without a name
	files               *symsrc.Files
	// java is set if it is a map of names of Java.
	java bool
	// script is set if its frames are places in a script, whose source map has their names.
	script bool
}

// place is an address of a process on a line.
type place struct {
	process string
	address uint64
	line    int
}

// mapped is a mapping that a line defines.
type mapped struct {
	process     string
	start, last uint64
	line        int
}

// Limits of what is kept of a log, which may have any length.
const (
	maxModules  = 1 << 12
	maxPlaces   = 1 << 10
	maxMapped   = 1 << 16
	maxExamples = 1 << 8
)

func newSurvey() *survey { return &survey{modules: map[identity]*module{}, frames: map[string]int{}} }

// all returns how many frames there are.
func (s *survey) all() (n int) {
	for _, k := range s.frames {
		n += k
	}
	return n
}

// of returns how many frames had an outcome.
func (s *survey) of(o resolve.Outcome) int { return s.frames[o.String()] }

// named returns how many frames have a name.
func (s *survey) named() int { return s.of(resolve.OK) + s.of(resolve.InLog) }

// line adds a line.
func (s *survey) line(l *record.Line) {
	if l.Part <= 1 {
		s.lines++
	}
	s.bytes += int64(len(l.Text) + len(l.End))
	if l.Part == 1 && len(l.Text) > 1<<20 {
		s.long++
	}
	s.cut = len(l.End) == 0 && !l.More
	s.last = append(s.last[:0], l.Text[:min(len(l.Text), maxExcerpt)]...)
	if !l.Holds() {
		s.near.look(l, false)
		return
	}
	if len(l.Prefix.Text) > 0 && l.Prefix.Logger != "none" {
		s.prefixes.count(l.Prefix.Logger, l.Number, l.Prefix.Text)
	}
	if l.Process != "" {
		s.processes.count(l.Process, l.Number, nil)
	}
	for i := range l.Context {
		s.context(l, &l.Context[i])
	}
	if len(l.Frames) > 0 {
		s.framed++
	}
	asked := 0
	for i := range l.Frames {
		if l.Frames[i].Kind != record.Register {
			s.frame(l, &l.Frames[i])
		}
		if l.Frames[i].Located {
			asked++
		}
	}
	if asked == 0 {
		s.near.look(l, true)
	}
}

// context adds what a line says about modules and mappings.
func (s *survey) context(l *record.Line, c *record.Context) {
	switch c.Type {
	case record.Malformed:
		s.malformed.count(c.Word, l.Number, l.Text)
		return
	case record.Mapping:
		if len(s.mapped) < maxMapped {
			s.mapped = append(s.mapped, mapped{l.Process, c.Start, c.Last, l.Number})
		}
	}
	s.stated++
}

// frame adds a frame.
func (s *survey) frame(l *record.Line, fr *record.Frame) {
	s.frames[fr.Status]++
	s.formats.count(fr.Format, l.Number, fr.Text)
	if s.all() == 1 && fr.Numbered && fr.Number > 0 && l.Number <= 2 {
		s.begun = fr.Number
	}
	switch fr.Status {
	case resolve.NoMapping.String():
		digits := strings.TrimPrefix(string(fr.Address), "0x")
		if addr, err := strconv.ParseUint(digits, 16, 64); err == nil && len(s.unmapped) < maxPlaces {
			s.unmapped = append(s.unmapped, place{fr.Process, addr, l.Number})
		}
	case resolve.Ambiguous.String():
		if !fr.Located {
			s.cut32++
		}
	case resolve.NotAsked.String():
		s.nowhere.count(fr.Reason, l.Number, l.Text)
	}
	if !fr.Located {
		return
	}
	key := identity{fr.Module.Name + "!" + fr.Module.Member, fr.Module.BuildID}
	m := s.modules[key]
	if m == nil {
		if len(s.modules) >= maxModules {
			return
		}
		m = &module{Module: fr.Module, line: l.Number, java: fr.Java, script: fr.Space == symsrc.InScript}
		s.modules[key] = m
	}
	m.frames++
	if fr.Status == resolve.OK.String() {
		m.named++
		if fr.Unverified && !fr.Java && fr.Space != symsrc.InScript {
			s.unverified++
		}
	} else if m.status == "" {
		m.status, m.reason, m.detail, m.address, m.line = fr.Status, fr.Reason, fr.Detail, fr.At, l.Number
	}
	m.files = fr.Files
}

// ordered returns the modules: those without names first, and among these those with the most frames.
func (s *survey) ordered() []*module {
	var list []*module
	for _, m := range s.modules {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *module) int {
		return cmp.Or(cmp.Compare(b.frames-b.named, a.frames-a.named), cmp.Compare(b.frames, a.frames),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.BuildID, b.BuildID))
	})
	return list
}

// tally counts things by their name, with an example of each.
type tally struct {
	list []*counted
	by   map[string]*counted
	// more counts the things beyond the limit.
	more int
}

// counted is one of them.
type counted struct {
	name    string
	n, line int
	example string
}

func (t *tally) count(name string, line int, example []byte) {
	c := t.by[name]
	if c == nil {
		if len(t.list) >= maxExamples {
			t.more++
			return
		}
		if t.by == nil {
			t.by = map[string]*counted{}
		}
		c = &counted{name: strings.Clone(name), line: line, example: excerpt(example)}
		t.by[c.name] = c
		t.list = append(t.list, c)
	}
	c.n++
}

// ordered returns them, the most frequent first.
func (t *tally) ordered() []*counted {
	slices.SortStableFunc(t.list, func(a, b *counted) int { return cmp.Compare(b.n, a.n) })
	return t.list
}
