package filter

import "context"

// run handles the lines at the begin of b that need no second look, since they are like others before, and gives the
// bytes that they are. b is of complete lines.
func (f *Filter) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if f.llvm != nil {
		return f.llvm.run(ctx, dst, b)
	}
	return dst, 0
}
