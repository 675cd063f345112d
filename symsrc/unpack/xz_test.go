package unpack

import (
	"bufio"
	"bytes"
	numbers "encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// xzOf compresses text.
func xzOf(t *testing.T, text string, c xz.WriterConfig) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unxz(b []byte) (string, error) {
	text, err := io.ReadAll(&xzReader{in: bufio.NewReaderSize(bytes.NewReader(b), 8<<10)})
	return string(text), err
}

// TestXZ decompresses streams with each type of check, with several blocks, and concatenated with padding. Truncated streams must
// fail, and so must streams with a changed bit, unless the text is the same.
func TestXZ(t *testing.T) {
	text := strings.Repeat("a line of a log\n", 1000)
	for name, c := range map[string]xz.WriterConfig{
		"crc32": {CheckSum: xz.CRC32}, "crc64": {CheckSum: xz.CRC64}, "sha256": {CheckSum: xz.SHA256}, "none": {NoCheckSum: true},
		"blocks": {BlockSize: 5000},
	} {
		c.DictCap = 64 << 10
		b := xzOf(t, text, c)
		two := append(append(append([]byte(nil), b...), make([]byte, 8)...), b...)
		for what, in := range map[string][]byte{"one": b, "two": two} {
			want := strings.Repeat(text, map[string]int{"one": 1, "two": 2}[what])
			if got, err := unxz(in); got != want || err != nil {
				t.Errorf("%s, %s: %d bytes, %v", name, what, len(got), err)
			}
		}
		for n := range len(b) {
			if got, err := unxz(b[:n]); err == nil && n > 0 || !strings.HasPrefix(text, got) {
				t.Fatalf("%s, %d of %d bytes: %d bytes, %v", name, n, len(b), len(got), err)
			}
			if name == "none" {
				continue
			}
			damaged := append([]byte(nil), b...)
			damaged[n] ^= 0x10
			if got, err := unxz(damaged); err == nil && got != text {
				t.Fatalf("%s, byte %d differs: %d bytes", name, n, len(got))
			}
		}
	}
	if got, err := unxz(xzOf(t, "", xz.WriterConfig{})); got != "" || err != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
}

// TestXZMemory checks that dictionaries larger than MaxWindow are refused.
func TestXZMemory(t *testing.T) {
	for code, fits := range map[byte]bool{0: true, 24: true, 30: true, 31: false, 39: false, 40: false, 41: false} {
		b := xzOf(t, "a line\n", xz.WriterConfig{})
		h := b[12 : 12+(int(b[12])+1)*4]
		at := bytes.Index(h, []byte{0x21, 1})
		h[at+2] = code
		numbers.LittleEndian.PutUint32(h[len(h)-4:], crc32.ChecksumIEEE(h[:len(h)-4]))
		got, err := unxz(b)
		if (err == nil) != fits || fits && got != "a line\n" {
			t.Errorf("%d: %q, %v", code, got, err)
		}
	}
}

// TestXZPeer decompresses the output of xz.
func TestXZPeer(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	text := strings.Repeat("a line of a log, 0123456789\n", 20000)
	for _, flags := range []string{"-0", "-9e", "-T2 --block-size=50000", "--check=sha256", "--check=none", "--lzma2=dict=4KiB,lc=0,pb=0", "--x86 --lzma2=preset=6", "--check=crc32 --x86 --lzma2=dict=1MiB --block-size=70000"} {
		cmd := exec.Command("xz", append(strings.Fields(flags), "-c")...)
		cmd.Stdin = strings.NewReader(text)
		b, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unxz(b); got != text || err != nil {
			t.Errorf("%s: %d bytes, %v", flags, len(got), err)
		}
	}
}

// TestX86Peer undoes the filter for code of x86 on real code, and on bytes in which opcodes and operands overlap in all ways.
func TestX86Peer(t *testing.T) {
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	dense := make([]byte, 300_000)
	for i := range dense {
		dense[i] = [...]byte{0xe8, 0xe9, 0, 0xff, 1, 0xfe, 0x90, byte(random.Uint32())}[random.IntN(8)]
	}
	for name, text := range map[string][]byte{"code": self[:min(len(self), 4<<20)], "dense": dense, "short": []byte("\xe8\x00\x00"), "five": []byte("\xe8\x05\x00\x00\x00")} {
		cmd := exec.Command("xz", "--x86", "--lzma2=preset=1", "-c")
		cmd.Stdin = bytes.NewReader(text)
		b, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unxz(b); got != string(text) || err != nil {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(text), err)
		}
	}
}
