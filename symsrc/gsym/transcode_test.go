package gsym

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"qss-filter/symsrc"
)

// transcoder writes the functions of a file of version 1 in another byte order, or in version 2.
type transcoder struct {
	binary.ByteOrder
	name int // size of an offset in the string table, in bytes
	out  []byte
}

// uint appends a number of 1, 2, 4 or 8 bytes.
func (w *transcoder) uint(size int, v uint64) {
	var raw [8]byte
	if w.ByteOrder == binary.BigEndian {
		binary.BigEndian.PutUint64(raw[:], v)
		w.out = append(w.out, raw[8-size:]...)
		return
	}
	binary.LittleEndian.PutUint64(raw[:], v)
	w.out = append(w.out, raw[:size]...)
}

func (w *transcoder) align(size int) {
	for len(w.out)%size != 0 {
		w.out = append(w.out, 0)
	}
}

// functions writes the FunctionInfo of each function, and returns their offsets.
func (w *transcoder) functions(f *File) (offsets []uint64) {
	for i := range f.count {
		fn := f.function(i, f.addr(i))
		w.align(4)
		offsets = append(offsets, uint64(len(w.out)))
		w.uint(4, fn.size)
		w.uint(w.name, fn.name)
		for {
			kind, n := fn.c.uint(4), fn.c.uint(4)
			body := fn.c.bytes(n)
			if kind == inlineInfo {
				in := cursor{b: body, order: f.order}
				x := transcoder{ByteOrder: w.ByteOrder, name: w.name}
				x.calls(&in)
				body = x.out
			}
			w.uint(4, kind)
			w.uint(4, uint64(len(body)))
			w.out = append(w.out, body...)
			if kind == endOfChunks {
				break
			}
		}
	}
	return offsets
}

// calls writes an entry of the tree of inlined calls and its descendants.
func (w *transcoder) calls(in *cursor) bool {
	start := in.p
	n := in.uleb()
	for range 2 * n {
		in.uleb()
	}
	w.out = append(w.out, in.b[start:in.p]...)
	if n == 0 {
		return false
	}
	children := in.uint(1)
	w.uint(1, children)
	w.uint(w.name, in.uint(4))
	start = in.p
	in.uleb()
	in.uleb()
	w.out = append(w.out, in.b[start:in.p]...)
	for children != 0 && w.calls(in) {
	}
	return true
}

// files writes the file table.
func (w *transcoder) files(f *File) {
	n := len(f.files) / 8
	w.uint(4, uint64(n))
	for i := range 2 * n {
		w.uint(w.name, f.entry(f.files, 4, i))
	}
}

// version1 returns the whole file in another byte order.
func version1(f *File, uuid []byte, order binary.ByteOrder) []byte {
	w := transcoder{ByteOrder: order, name: 4}
	for _, x := range [...][2]uint64{{4, 0x4753594d}, {2, 1}, {1, uint64(f.addrSize)}, {1, uint64(len(uuid))}, {8, f.base}, {4, uint64(f.count)}, {4, 0}, {4, uint64(len(f.names))}} {
		w.uint(int(x[0]), x[1])
	}
	w.out = append(w.out, uuid...)
	w.align(16)
	w.align(f.addrSize)
	for i := range f.count {
		w.uint(f.addrSize, f.entry(f.addrs, f.addrSize, i))
	}
	w.align(4)
	infos := len(w.out)
	for range f.count {
		w.uint(4, 0)
	}
	w.files(f)
	names := len(w.out)
	w.out = append(w.out, f.names...)
	patch := transcoder{ByteOrder: order}
	for _, off := range w.functions(f) {
		patch.uint(4, off)
	}
	copy(w.out[infos:], patch.out)
	patch.out = nil
	patch.uint(4, uint64(names))
	copy(w.out[20:], patch.out)
	return w.out
}

// version2 returns the whole file in version 2.
func version2(f *File, uuid []byte, order binary.ByteOrder) []byte {
	var parts [7][]byte
	part := func(kind int, write func(w *transcoder)) {
		w := transcoder{ByteOrder: order, name: 8}
		write(&w)
		parts[kind] = w.out
	}
	var offsets []uint64
	part(functionInfo, func(w *transcoder) { offsets = w.functions(f) })
	part(addrOffsets, func(w *transcoder) {
		for i := range f.count {
			w.uint(f.addrSize, f.entry(f.addrs, f.addrSize, i))
		}
	})
	part(addrInfoOffsets, func(w *transcoder) {
		for _, off := range offsets {
			w.uint(8, off)
		}
	})
	part(fileTable, func(w *transcoder) { w.files(f) })
	parts[stringTable], parts[6] = f.names, uuid
	w := transcoder{ByteOrder: order}
	for _, x := range [...][2]uint64{{4, 0x4753594d}, {2, 2}, {1, uint64(f.addrSize)}, {1, 0}, {8, f.base}, {4, uint64(f.count)}} {
		w.uint(int(x[0]), x[1])
	}
	at := 20 + 7*20
	for _, kind := range [...]int{6, 1, 2, 4, 3, 5} {
		at = (at + 7) / 8 * 8
		w.uint(4, uint64(kind))
		w.uint(8, uint64(at))
		w.uint(8, uint64(len(parts[kind])))
		at += len(parts[kind])
	}
	w.out = append(w.out, make([]byte, 20)...)
	for _, kind := range [...]int{6, 1, 2, 4, 3, 5} {
		w.align(8)
		w.out = append(w.out, parts[kind]...)
	}
	return w.out
}

// TestVersionsAndOrders compares the answers of one file in all versions and byte orders, for each address. If the peer is installed, it
// also reads version 1 in the other byte order.
func TestVersionsAndOrders(t *testing.T) {
	for _, name := range []string{"inline.gsym", "fixed.gsym"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(data)
		if err != nil {
			t.Fatal(err)
		}
		head, ok := symsrc.IdentifySymbols(data)
		if !ok || head.Kind != symsrc.GSYM || len(head.ID) != 20 {
			t.Fatalf("%s: %+v", name, head)
		}
		uuid := []byte(head.ID)
		low, _ := f.Lowest()
		for form, text := range map[string][]byte{
			"1, little-endian": version1(f, uuid, binary.LittleEndian), "1, big-endian": version1(f, uuid, binary.BigEndian),
			"2, little-endian": version2(f, uuid, binary.LittleEndian), "2, big-endian": version2(f, uuid, binary.BigEndian),
		} {
			if again, _ := symsrc.IdentifySymbols(text); again != head {
				t.Errorf("%s, version %s: head %+v, want %+v", name, form, again, head)
			}
			g, err := New(text)
			if err != nil {
				t.Errorf("%s, version %s: %v", name, form, err)
				continue
			}
			named := 0
			for addr := low - 16; addr < low+0x400; addr++ {
				got, want := answered(g.Frames(addr)), answered(f.Frames(addr))
				if named += len(want); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, version %s, %#x:\n got %+v\nwant %+v", name, form, addr, got, want)
				}
			}
			if named < 500 {
				t.Errorf("%s: only %d frames", name, named)
			}
			for n := range text { // truncated at every position
				if g, err := New(text[:n]); err == nil {
					g.Frames(low + uint64(n)%0x300)
				}
			}
			if form == "1, big-endian" {
				t.Run(name, func(t *testing.T) { comparePeer(t, text, low) })
			}
		}
	}
}

func comparePeer(t *testing.T, text []byte, low uint64) {
	path := filepath.Join(t.TempDir(), "big.gsym")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	needPeer(t)
	var addrs []uint64
	for a := low; a < low+0x300; a++ {
		addrs = append(addrs, a)
	}
	compare(t, path, addrs)
}

func FuzzFrames(f *testing.F) {
	for _, name := range []string{"inline.gsym", "fixed.gsym"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		g, err := New(data)
		if err != nil {
			f.Fatal(err)
		}
		head, _ := symsrc.IdentifySymbols(data)
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			f.Add(version1(g, []byte(head.ID), order), uint64(0x1760))
			f.Add(version2(g, []byte(head.ID), order), uint64(0x201720))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		symsrc.IdentifySymbols(data)
		g, err := New(data)
		if err != nil {
			return
		}
		if low, ok := g.Lowest(); ok {
			g.Frames(low)
			g.Frames(low + addr%4096)
		}
		for _, fr := range answered(g.Frames(addr)) {
			if fr.Line < 0 || fr.Line > 0 && fr.File == "" {
				t.Errorf("%+v", fr)
			}
		}
	})
}

// answered ignores the error of an answer.
func answered(frames []symsrc.Frame, _ error) []symsrc.Frame { return frames }
