package llvm

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/filter/filtertest"
)

var (
	llvmLogs = flag.Int("llvm.logs", 200, "random logs to compare with llvm-symbolizer")
	llvmSeed = flag.Uint64("llvm.seed", 1, "the first log's seed")
)

// TestLLVMRandom compares random logs with the peer. The seed in a failure repeats it: go test ./filter/llvm -run
// LLVMRandom -llvm.seed=N -llvm.logs=1
func TestLLVMRandom(t *testing.T) {
	filtertest.NeedPeer(t)
	dirs := []string{filtertest.LogTree(t), filtertest.SampleTree()}
	all := filtertest.Targets(t, dirs...)
	runs := []peerRun{plainRun, colorRun,
		{[]string{"--color=never", "--no-demangle", "--basenames"}, Options{NoDemangle: true, Basenames: true}},
		{[]string{"--color=never", "--functions=short"}, Options{Functions: ShortNames}},
		{[]string{"--color=never", "--functions=none", "--relativenames"}, Options{Functions: NoNames, RelativeNames: true}},
	}
	bad := 0
	for i := range uint64(*llvmLogs) {
		seed := *llvmSeed + i
		r := filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 0)), Targets: all}
		log := r.Again(r.Log(40 + r.IntN(200)))
		way := runs[max(0, r.IntN(10)-5)]
		if !samePeer(t, filtertest.TreeSource(dirs...), way, dirs, log) {
			t.Errorf("seed %d", seed)
			if bad++; bad == 1 && *llvmLogs == 1 {
				path := filepath.Join(os.TempDir(), "llvm-random.log")
				_ = os.WriteFile(path, []byte(log), 0o666)
				t.Log("the log is in ", path)
			}
			if bad >= 5 {
				t.Fatal("and so on")
			}
		}
	}
}
