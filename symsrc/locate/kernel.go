package locate

import (
	"bufio"
	"bytes"
	"io"

	"qss-filter/symsrc"
	"qss-filter/symsrc/unpack"
)

// A bzImage, which distributions call vmlinuz, has the ELF file of the kernel of x86 in it, packed, without its symbols
// (Documentation/arch/x86/boot.rst in Linux, protocol 2.08). The kernels of other machines are images of memory, packed or not
// (arm64/booting.rst, and the header in drivers/firmware/efi/libstub/zboot-header.S): nothing can be found by their build IDs.
const (
	bootSetup   = 0x1f1 // the number of sectors of the code before the kernel
	bootMark    = 0x202 // "HdrS", and behind it the version of the protocol
	bootPayload = 0x248 // offset and length of the packed kernel
	bootEnd     = 0x250
	bootSector  = 512

	maxBoot = 64 << 20 // bytes before the kernel

	imageMark = 0x38 // "ARM\x64" in the image of arm64, "RSC\x05" in that of RISC-V
)

// kernelHeader is member.header of the kernel in a bzImage.
const kernelHeader = -2

// kernelName is the name of a kernel, in logs and as a file.
const kernelName = "vmlinux"

// isKernel reports whether the member is the kernel in a bzImage, packed or not itself.
func (m *member) isKernel() bool { return m.header == kernelHeader }

// kernelIn returns the ELF file in the bzImage that path is.
func kernelIn(path string, size int64) *member {
	m := compressed(path, size)
	m.name, m.header = kernelName, kernelHeader
	return &m
}

// isBoot reports whether a file that begins so is a bzImage.
func isBoot(head []byte) bool {
	return len(head) >= bootEnd && string(head[bootMark:bootMark+4]) == "HdrS" && le16(head[bootMark+4:]) >= 0x208 && le32(head[bootPayload+4:]) > 0
}

// kernelError returns the error of a file that is a kernel, but no ELF file, nil for any other.
func kernelError(head []byte) *fileError {
	switch {
	case isBoot(head):
		return &fileError{status: symsrc.UnsupportedCompressed, note: bootNote}
	case bytes.HasPrefix(head, []byte("MZ\x00\x00zimg")), len(head) > imageMark+4 && (string(head[imageMark:imageMark+4]) == "ARM\x64" || string(head[imageMark:imageMark+4]) == "RSC\x05"):
		return &fileError{status: symsrc.NotELF, note: "an image of a kernel, not an ELF file: its vmlinux has the symbols"}
	}
	return nil
}

// bootNote is the note of a bzImage that is looked at as if it were an ELF file.
const bootNote = "bzImage"

// isBoot reports whether the file is a bzImage.
func (e *fileError) isBoot() bool {
	return e.status == symsrc.UnsupportedCompressed && e.note == bootNote
}

// unpackKernel returns a reader of the kernel in a bzImage.
func unpackKernel(in io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(bootEnd)
	if err != nil || !isBoot(head) {
		return nil, nil, corrupted("no kernel is in it")
	}
	setup := int64(head[bootSetup])
	if setup == 0 {
		setup = 4
	}
	at, length := (setup+1)*bootSector+int64(le32(head[bootPayload:])), int64(le32(head[bootPayload+4:]))
	if at > maxBoot {
		return nil, nil, corrupted("the kernel in it begins at %d", at)
	}
	if _, err := io.CopyN(io.Discard, b, at); err != nil {
		return nil, nil, err
	}
	const sizeField = 4 // behind all formats but gzip, which has one of its own, that of the kernel follows
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" {
		length -= sizeField
	}
	return unpack.Kernel(bufio.NewReader(io.LimitReader(b, max(length, 0))))
}
