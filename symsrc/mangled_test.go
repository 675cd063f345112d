package symsrc

import (
	"context"
	"testing"
)

type answering struct{ frames []Frame }

func (a answering) Frames(context.Context, Addr) Answer { return Answer{Frames: a.frames} }

func TestMangled(t *testing.T) {
	shared := []Frame{{Func: "a::b()", Linkage: "_ZN1a1bEv"}, {Func: "read", Linkage: "read@@GLIBC_2.2.5"}, {Func: "inlined"}}
	got := Mangled(answering{shared}).Frames(context.Background(), Addr{}).Frames
	for i, want := range []string{"_ZN1a1bEv", "read", "inlined"} {
		if got[i].Func != want {
			t.Errorf("got %s, want %s", got[i].Func, want)
		}
	}
	if shared[0].Func != "a::b()" {
		t.Error("the answer behind was changed")
	}
}
