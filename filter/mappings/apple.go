package mappings

import (
	"bytes"
	"cmp"
	"slices"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// AppleHeadline stands above the images of a report of Apple's, below its stacks, and AppleKey before those of a report in JSON.
var (
	AppleHeadline = []byte("Binary Images:")
	// ApplePart stands above each part of the images where a report has several: Binary Images (App):
	ApplePart = []byte("Binary Images (")
	AppleKey  = []byte(`"usedImages"`)
	// crashKey stands before the images of a report of KSCrash in JSON, above its stacks or below, debugKey before those of an event of
	// PostHog, and eventKey and imagesKey before those of an event of Sentry.
	crashKey  = []byte(`"binary_images"`)
	debugKey  = []byte(`"$debug_images"`)
	eventKey  = []byte(`"debug_meta"`)
	imagesKey = []byte(`"images"`)
)

// ImageKeys are in the lines with which the images of reports in JSON begin.
var ImageKeys = [...][]byte{AppleKey, crashKey, eventKey, debugKey}

// OpensImages reports whether the images of a report of KSCrash, or of an event of Sentry or PostHog, begin in a text.
func OpensImages(text []byte) bool {
	return bytes.Contains(text, crashKey) || bytes.Contains(text, eventKey) || bytes.Contains(text, debugKey)
}

// reportStarts begin a report of Apple's.
var reportStarts = [...][]byte{[]byte("Incident Identifier: "), []byte("Process:  "), []byte(`{"app_name":`), []byte(`{"bug_type":`)}

// AppleImage reads an image of a report of Apple's, of sample or of spindump:
//
//	0x1017ff000 -        0x101885fff +com.example.App (x86_64)  <7B639009-221F-3815-A7A3-657098146F8A> /Applications/App.app/Contents/MacOS/App
//	0x1042cc000 - 0x1042d3fff TouchCanvas arm64  <3a1f6e2b9b6d3b5f8a0c1d2e3f405162> /private/var/containers/App
//	0x104f8c000 -                ???  com.example.App 1.0 (1)  <2151A33A-068D-37FE-ACB5-02E0BB7DA9D8>  /Applications/App
//
// The range is that of the code. The end that sample does not know is where the image is taken to end: 4 GiB after its beginning, or before
// the next image. An image without a UUID may be any file.
func AppleImage(text []byte) (m Mapping, ok bool) {
	s := &fields{bytes.Trim(text, " \t\r")}
	if len(text) > 2*maxLine {
		return m, false
	}
	start, prefixed, ok := s.address()
	if !ok || !prefixed || !s.byte('-') {
		return m, false
	}
	s.rest = scan.TrimLeft(s.rest)
	last, prefixed, ok := s.address()
	if after, open := bytes.CutPrefix(s.rest, []byte("???")); !ok && open {
		last, prefixed, ok, s.rest = start+openImage, true, true, after
	}
	if !ok || !prefixed || last < start {
		return m, false
	}
	m = Mapping{Format: AppleImages, Start: start, Last: last, Space: symsrc.InImage, Mode: "rx", BuildID: string(symsrc.MachO)}
	open := bytes.IndexByte(s.rest, '<')
	if open < 0 {
		return m, false
	}
	digits, rest, closed := bytes.Cut(s.rest[open+1:], []byte(">"))
	if id, valid := appleID(digits); valid {
		m.BuildID = string(id)
	}
	m.Path = bytes.TrimSpace(rest)
	if len(m.Path) == 0 {
		m.Path = bytes.TrimLeft(bytes.TrimSpace(s.rest[:open]), "+")
	}
	return m, closed && len(m.Path) > 0
}

// openImage is how much an image takes whose end is not known, in bytes.
const openImage = 1 << 28

// appleID reads a UUID. It returns false for one of zeros, which stands for none.
func appleID(digits []byte) (id symsrc.BuildID, ok bool) {
	const size = 16
	id = symsrc.ReadBuildID(digits)
	return id, len(id) == size && id != symsrc.BuildID(make([]byte, size))
}

// HoldsImages reports whether the images of a report in JSON begin in a text.
func HoldsImages(text []byte) bool {
	return slices.ContainsFunc(ImageKeys[:], func(key []byte) bool { return bytes.Contains(text, key) })
}

// WholeImages returns the images of a report that is a JSON object on one line. It returns false for any other line.
func WholeImages(line []byte) (list AppleList, ok bool) {
	object := bytes.Trim(line, " \t")
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' || !HoldsImages(object) {
		return list, false
	}
	list.Line(object)
	return list, list.Done
}

// BoundsApple reports whether text is the first line of a report of Apple's.
func BoundsApple(text []byte) bool {
	for _, start := range reportStarts {
		if bytes.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// Bounds of the images of a report in JSON.
const (
	maxAppleImages = 1 << 14
	maxAppleObject = 16 << 10
)

// AppleList reads the images of a report in JSON, on one line or on many. Its zero value is before the list.
type AppleList struct {
	// Images are the modules by their numbers. One without a UUID may be any file.
	Images []symsrc.Module
	// Mapped are those whose addresses the report says, in the order of these.
	Mapped []Mapping
	// Done is set after the list.
	Done bool

	inside bool
	event  bool   // the key of an event of Sentry was before
	object []byte // the part of an object on the lines before; nil between objects
}

// Line reads a line, and reports whether it is one of the list.
func (l *AppleList) Line(line []byte) bool {
	if l.Done {
		return false
	}
	if !l.inside {
		key, i := AppleKey, -1
		for _, key = range [...][]byte{AppleKey, crashKey, debugKey} {
			if i = bytes.Index(line, key); i >= 0 {
				break
			}
		}
		if i < 0 {
			at := bytes.Index(line, eventKey)
			if at >= 0 {
				l.event, line = true, line[at+len(eventKey):]
			}
			key = imagesKey
			if i = bytes.Index(line, key); !l.event || i < 0 {
				return at >= 0
			}
		}
		line = line[i+len(key):]
		open := bytes.IndexByte(line, '[')
		if open < 0 || len(bytes.Trim(line[:open], " :")) > 0 {
			return false
		}
		l.inside, line = true, line[open+1:]
	}
	for len(line) > 0 {
		if l.object == nil {
			i := bytes.IndexAny(line, "{]")
			if i < 0 {
				return true
			}
			if line[i] == ']' {
				l.inside, l.Done = false, true
				slices.SortStableFunc(l.Mapped, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
				return true
			}
			l.object, line = []byte{'{'}, line[i+1:]
		}
		part, rest, whole := bytes.Cut(line, []byte("}"))
		l.object = append(append(l.object, part...), ' ')
		if len(l.object) > maxAppleObject || len(l.Images) >= maxAppleImages {
			l.inside, l.Done, l.Images, l.Mapped = false, true, nil, nil
			return true
		}
		if !whole {
			return true
		}
		l.add(append(l.object, '}'))
		l.object, line = nil, rest
	}
	return true
}

// add reads the object of an image. Each has a number, also one that cannot be read.
func (l *AppleList) add(object []byte) {
	m := symsrc.Module{BuildID: symsrc.MachO}
	var o scan.Object
	if o.Read(object, 0) {
		for _, key := range [...]string{"name", "path", "code_file"} {
			if path := o.Get(object, key); path != nil && path.Quoted {
				m.Name = string(bytes.ReplaceAll(path.Value.Of(object), []byte(`\/`), []byte("/")))
			}
		}
		for _, key := range [...]string{"uuid", "debug_id"} {
			if id, ok := appleID(o.Text(object, key).Of(object)); ok {
				m.BuildID = id
			}
		}
		isPlaced := true
		if l.event {
			switch kind := o.Text(object, "type").Of(object); string(kind) {
			case "macho", "apple":
			case "elf": // whose debug_id is but a part of the build ID
				m.BuildID = symsrc.ReadBuildID(o.Text(object, "code_id").Of(object))
				isPlaced = m.BuildID != ""
			default:
				isPlaced = false
			}
		}
		if isPlaced {
			l.place(object, &o, m)
		}
	}
	l.Images = append(l.Images, m)
}

// place adds the mapping of an image, if its object says where that is.
func (l *AppleList) place(object []byte, o *scan.Object, m symsrc.Module) {
	digits := func(key string) (v uint64, ok bool) {
		at := o.Get(object, key)
		if at == nil {
			return 0, false
		}
		var end int
		if at.Quoted {
			v, end, ok = scan.Address(object, at.Value.Start)
		} else {
			v, end, ok = scan.Decimal(object, at.Value.Start)
		}
		return v, ok && end == at.Value.End
	}
	start, ok := digits("image_addr")
	size, isSized := digits("image_size")
	if !ok {
		start, ok = digits("base")
		size, isSized = digits("size")
	}
	if !ok { // Datadog's
		var end uint64
		start, ok = digits("load_address")
		end, isSized = digits("max_address")
		size = end - start
	}
	if ok && isSized && size > 0 && start+size > start {
		l.Mapped = append(l.Mapped, Mapping{Format: AppleImages, Start: start, Last: start + size - 1, Space: symsrc.InImage, Mode: "rx", BuildID: string(m.BuildID),
			Path: []byte(m.Name)})
	}
}
