package frame

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"qss-filter/filter/match"
)

// Format is one format of frames: a row of the table.
type Format struct {
	// Name is the Frame's Family; formats of one emitter share it.
	Name string
	// Mark is the text at which Read is called: a line cannot hold such a frame without it. A space in front of it may be a tab or the
	// start of a line. Most marks are `#` and what ends in `0x`, for which a line is searched in any case. A line is searched for another
	// mark only where no other frame was found.
	Mark string
	// Next is the byte after the number that a Mark of `+0x` begins, 0 for any.
	Next byte
	// Needs is a text that stands before the mark, "" for any. Search.needed is where it stands the last time when Read is called.
	Needs string
	// Literals are texts of which a line holds one that has such a frame for the stream to stop at it, in the states that they name.
	Literals []match.Literal
	// Read reads the frame whose mark stands at line[at] into f, and reports whether there is one; of marks that end in `0x`, but not in
	// `+0x`, with one byte before these, at is that of the number. The frame lies in line[from:]. Family is set after it.
	Read func(s *Search, line []byte, at, from int, f *Frame) bool
	// Sample is a line that holds such a frame.
	Sample string
}

// formats are the known formats. Those with the same mark stand together and are asked in this order. Of frames of different marks
// the one that begins first wins, and of overlapping ones that of the mark listed first.
var formats = [...]Format{
	{"sanitizer", "#", 0, "", stopAt(plusHex), readNumbered, "    #0 0x55aefc1432a3  (/bin/crash+0x1182a3) (BuildId: 8fe381949ea8c764)"},
	{"android", "#", 0, "", stopAt(pcWord), readAndroid, "    #05 pc 00000c6f  /system/xbin/crasher (f+16) (BuildId: ab12)"},
	{"systemd", "#", 0, "", stopAt(plusSpaceHex), readSystemd, "   #0  0x00007fd2dab662a2 raise (libc.so.6 + 0x3d2a2)"},
	{"freecad", "#", 0, "", stopAt(plusHex), readFreeCAD, "#2  0x7f1da6284598 in Gui::f(Gui::Selection const&) from /usr/lib/libFreeCADGui.so+0x138"},
	{"gdb", "#", 0, "", stopAt(address), readGDB, "#6  0x00007ffff7a4524a in __libc_start_call_main () from /lib/libc.so.6"},
	{"chromium", "#", 0, "", stopAt(plusHex), readChromium, "#00 0x7324d92d /data/app-lib/libbase.cr.so+0x0006992d"},
	{"envoy", "#", 0, "", stopAt(bracketHex), readEnvoy, "[critical][backtrace] #1: [0x5564bb12b48f]"},
	{"fuchsia", "#", 0, "", stopAt(plusHex), readFuchsia, "   #23 0x01515046fe79 <libc.so>(5f6ac44089fc254a4911e3b55cdaa6d10c4f8174)+0x63e79"},
	{"fuchsia", "#", 0, "", stopAt(pcOfFuchsia), readFuchsiaCrash, "bt#01: pc 0xd8af19736ef sp 0x6ef13e3cf6b8 (app:/tmp/syz-executor,0x135e6ef)"},
	{"mozilla", "#", 0, "", stopAt(plusHex), readMozilla, "#02: main[/usr/lib/firefox/firefox +0x1234]"},
	{"dart", "#", 0, "", stopAt(plusHex), readDart, "    #00 abs 0000007af71c4903 virt 000000000019e903 _kDartIsolateSnapshotInstructions+0xd7dc3"},
	{"backward", "#", 0, "", stopAt(atAddress), readBackward, `#6    Object "./a.out", at 0x4019d8, in main`},
	{"lldb", "#", 0, "", stopAt(unnamedMark, plusDecimal), readLLDB, "  * frame #3: 0x0000555555555069 a.out`___lldb_unnamed_symbol_1060 + 9"},
	{"boost", "#", 0, "", stopAt(numberZeros, address), readBoost, " 0# 0x000055DDD336E66D in ./prog"},
	{"freebsd", "#", 0, "", stopAt(plusHex), readFreeBSD, "#1 0xffffffff809495e6 at vpanic+0x126"},
	{"dladdr", "#", 0, "", stopAt(plusHex), readDladdr, "#03 0x5568228fea45 ./prog(+0x2a45)"},
	{"numbered", "#", 0, "", stopAt(address, number), readNumberOnly, "#0 0x55cfe9dfc549 base::debug::CollectStackTrace()"},
	{"strongswan", "+0x", ')', " @ 0x", stopAt(plusHex), readStrongSwan, "/usr/lib/libvlibapi.so.23.10.0 @ 0x7fa234299000 (vl_msg_api_free+0x18) [0x7fa2342a4658]"},
	{"glibc", "+0x", ')', "", stopAt(plusHex), readGlibc, "bin/bt(exported_fn+0x5)[0x55f32546c255]"},
	{"ceph", "+0x", ')', "", stopAt(plusHex), readCeph, " 12: (PrimaryLogPG::do_op(boost::intrusive_ptr<OpRequest>&)+0x2d5f) [0x564392491f5f]"},
	{"sentence", "+0x", ')', "", stopAt(plusHex), readSentence, "SUMMARY: AddressSanitizer: heap-use-after-free (/bin/crash+0x1182a3)"},
	{"wine", "+0x", ')', "", stopAt(plusHex), readWine, "=>0 0xf75477ea in libc.so.6 (+0x1357ea) (0x00000003)"},
	{"unreal", "+0x", ')', "", stopAt(plusHex), readUnrealNamed, "0x0000faf7669603c8 libc.so.6!abort(+0x17f)"},
	{"systemtap", "+0x", '/', "", stopAt(plusHex), readSystemTap, " 0xffff9e126d78 [/usr/lib64/libpthread-2.17.so+0x6d78/0x40000]"},
	{"kernel", "+0x", '/', "", stopAt(plusHex), readKernel, " lkdtm_WARNING+0x28/0x30 [lkdtm 6c2215028606bda50de823490723dc4bc5bf46f9]"},
	{"hs_err", "+0x", ']', "", stopAt(plusHex), readHsErr, "C  [libhs.so+0x10f9]  inner+0x0"},
	{"hs_err", "<offset 0x", 0, "", stopAt(offsetWord), readHsErrPlace, "RBP=0x00007fa55fd582d2: <offset 0x952d2> in /usr/lib/libGL.so.1 at 0x00007fa55fcc3000"},
	{"openj9", "+0x", ']', "", stopAt(plusHex), readOpenJ9, "4XENATIVESTACK               (0x00007F24412D8452 [libj9prt29.so+0x3a452])"},
	{"carb", "+0x", 0, "!", stopAt(plusHex), readCarb, "[carb.crashreporter-breakpad.plugin] 000: libc.so.6!__sigaction+0x50"},
	{"edk2", "+0x", ')', "", stopAt(plusHex), readFirmware, "PC 0x0000BFAF3D04 (0x0000BFAE0000+0x00013D04) [ 1] DxeCore.dll"},
	{"ddb", "+0x", 0, ddbWord, stopAt(plusHex), readDDB, "vpanic() at vpanic+0x182/frame 0xfffffe0012345678"},
	{"eu-stack", "+0x", 0, "", stopAt(plusHex), readElfutils, "    [67f5bdb4012f5b0a8a8fb71a3b6e6b5c1d0e9f00]@0x555555554000+0x13ab"},
	{"faulthandler", "+0x", ' ', `Binary file "`, stopAt(plusHex), readFaulthandler, `  Binary file "/usr/lib/libc.so.6", at +0x3def0 [0x77b73226bef0]`},
	{"perf", "+0x", ' ', "", stopAt(plusHex), readPerf, "\t           14645 handle_amd+0x25 (/usr/lib/ld-linux-x86-64.so.2)"},
	{"g3log", "+0x", ' ', stackDump, stopAt(plusHex), readG3log, "\tstack dump [2]  /usr/lib/libmbclient.so+0x12af7 [0x7f50a7bafaf7]"},
	{"bcc", "+0x", ' ', "", stopAt(plusHex), readBCC, "\t0 [<00007f05944c098c>] _Znwm+0x1c [/usr/lib/libstdc++.so.6.0.30]"},
	{"seastar", "+0x", 0, "", stopAt(plusHex), readSeastarPath, "Backtrace: /opt/scylladb/scylla+0x3c53042 0x3c52380"},
	{"tizen", "] + 0x", 0, "", stopAt(plusSpaceHex), readTizen, " 0: strcat + 0x12d (0xb74d57ad) [/lib/libc.so.6] + 0x747ad"},
	{"pytorch", "+ 0x", 0, "frame #", stopAt(plusSpaceHex), readPyTorch, "frame #5: <unknown function> + 0x6a60c9 (0x7efd970910c9 in /opt/lib/libtorch_python.so)"},
	{"stackwalk", "+ 0x", 0, "", stopAt(plusSpaceHex), readStackwalk, " 1  libc-2.23.so + 0xf302d"},
	{"stackwalk", "|0x", 0, "", stopAt(barHex), readStackwalkFields, "0|1|libc-2.23.so||||0xf302d"},
	{"fields", "offset=0x", 0, "module=", stopAt(offsetHex), readFields, "[frame=0 pc=0x5575 module=/bin/crash offset=0x1182a3 func=<null> src=<null>:0:0]"},
	{"faulthandler", "[0x", 0, `Binary file "`, stopAt(bracketHex), readFaulthandlerPlain, `  Binary file "/opt/python/python" [0x4b53b0]`},
	{"pytorch", "[0x", 0, "frame #", stopAt(bracketHex), readPyTorchPlain, "frame #60: python() [0x4fdc87]"},
	{"pytorch", "[0x", 0, "frame #", stopAt(address), readPyTorchAndroid, " frame #3\tc10::Error::Error(c10::SourceLocation)[0x7b1c2d3e4f]\t"},
	{"cuda", "[0x", 0, "Host Frame:", stopAt(bracketHex), readCUDA, "=========     Host Frame:./demo [0x2a59]"},
	{"ruby", "[0x", 0, "", stopAt(bracketHex), readRuby, "/usr/local/lib/libruby.so.2.5(0xa7868) [0x7ff8cd631868]"},
	{"strongswan", "[0x", 0, " @ 0x", stopAt(bracketHex), readStrongSwanPlain, "/usr/lib64/ipsec/plugins/libstrongswan-vici.so @ 0x7fa25e7bd000 [0x7fa25e7c3fb9]"},
	{"mtrace", "[0x", 0, "@ ", stopAt(bracketHex, mtracePlace), readMtrace, "@ ./prog:[0x1190] + 0x558b3abe04a0 0x64"},
	{"glibc", "[0x", 0, "", stopAt(bracketHex), readGlibcPlain, "./bt-nopie() [0x4011a6]"},
	{"crystal", "[0x", 0, "", stopAt(bracketHex), readCrystal, "[0x56272fb7507f] lsquic_attq_pop +42 in /usr/lib/liblsquic.so.2"},
	{"glibc", "[0x", 0, "", stopAt(bracketHex), readStraceOther, " > [vdso]() [0xa2c]"},
	{"apple", "[0x", 0, " + ", stopAt(bracketHex), readAppleSample, "2  ??? (<2151A33A-068D-37FE-ACB5-02E0BB7DA9D8> + 264960) [0x103758b00]"},
	{"druntime", druntimeMark, 0, "", stopAt(address), readDruntime, "??:? [0x56164c8fe218]"},
	{"druntime", "[0x", 0, "", stopAt(address), readDruntimeLine, "app.d:12 [0x56164c8fe218]"},
	{"pascal", "$", 0, "", stopAt(dollar), readPascal, "  $00000000004010DB"},
	{"v8", "[0x", 0, "", stopAt(address), readV8, " [0x7f6b13882bf1]"},
	{"addr2line", " 0x", 0, addr2lineWord, stopAt(addr2line), readAddr2line, `Backtrace="addr2line -e fdbserver.debug -p -C -f -i 0x1479f46 0x14786b7"`},
	{"glog", " 0x", 0, "", stopAt(address), readGlog, "    @     0x555b673f4215 ns::outer()"},
	{"rust", " 0x", 0, "", stopAt(address), readRust, "   0:     0x55ad5b264e0a - <unknown>"},
	{"mono", " 0x", 0, "", stopAt(address), readMono, "        0x7f44765151f2 - /opt/game/libmonobdwgc-2.0.so : mono_dump_native_crash_info"},
	{"haproxy", " 0x", 0, "", stopAt(address), readHAProxy, "| 0x7f39d0174050 [48 c7 c0 0f 00 00 00 0f]: libc:+0x3c050"},
	{"clickhouse", " @ 0x", 0, "", stopAt(atHex), readClickHouse, "5. DB::executeQuery() @ 0x000000000a1b2c3d in /usr/bin/clickhouse"},
	{"bpftrace", " 0x", 0, "", stopAt(address), readBpftraceUnknown, "\t55889bb84160 0x55889bb84160 ([unknown])"},
	{"bpftrace", " 0x", 0, "", stopAt(address, attaching), readBpftraceID, "8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4 0x1130"},
	{"node", ": 0x", 0, "", stopAt(address), readNode, " 4: 0x10fb205  [node]"},
	{"v8", ": 0x", 0, "", stopAt(address), readV8Numbered, " 1: 0xb29b0f4"},
	{"zig", "?: 0x", 0, "", stopAt(address), readZig, "???:?:?: 0x7f5e2c84527f in __libc_start_call_main (???)"},
	{"julia", "ip: 0x", 0, "", stopAt(address), readJulia, "unknown function (ip: 0x7f48deb04a30)"},
	{"unreal", "(0x", 0, "", stopAt(unrealWord), readUnreal, "[Callstack] 0x0000000004bd0c64 CarlaUnreal!UnknownFunction(0x49d0c63)"},
	{"esp-idf", " 0x", 0, "", stopAt(address), readESPBacktrace, "Backtrace: 0x40085cd7:0x3ffb47e0 0x40085b84:0x3ffb47f0 |<-CORRUPTED"},
	{"esp-idf", ":0x", 0, "", stopAt(address), readESPBacktrace, "Backtrace:0x40085cd7:0x3ffb47e0 0x40085b84:0x3ffb47f0"},
	{"esp-idf", ": 0x", 0, "", stopAt(address), readESPRegister, "MEPC    : 0x42007bd6  RA      : 0x42007bd0  SP      : 0x3fc98fa0"},
	{"esp-idf", " 0x", 0, "", stopAt(address), readESPCaller, "    32 bytes (@ 0x3ffb5f24, Internal) allocated CPU 0 ccount 0x0d22e8d4 caller 0x400d2d1c:0x400d2e60"},
	{"esp-idf", ":0x", 0, "", stopAt(address), readESPCaller, "freed by 0x400d2d1c:0x400d2e60"},
	{"esp-idf", " 0x", 0, "", stopAt(address), readESPHome, "[09:29:13.735][E][esp32.crash:295]:   BT0: 0x42023756  (backtrace)"},
	{"nuttx", " 0x", 0, "backtrace|", stopAt(address), readNuttX, "[    2.340000] [ EMERG] backtrace| 2: 0x08000f1a 0x08001b3c"},
	{"tf-a", ": 0x", 0, "EL", stopAt(address), readTFA, "1: EL3: 0x4021e98"},
	{"u-boot", "elr: ", 0, "", stopAt(relocatedAs), readUBoot, "elr: 00000000feaa47bc lr : 00000000feaa895c (reloc)"},
	{"u-boot", "EPC: ", 0, "", stopAt(adjustedAs), readUBoot, "EPC: 0000000080001234 RA: 0000000080001230 reloc adjusted"},
	{"u-boot", relocatedPC, 0, "", stopAt(relocatedWord), readUBoot, "reloc pc : [<17835858>]\t   lr : [<17835801>]"},
	{"u-boot", "lr : ", 0, "", stopAt(relocatedAs), readUBoot, "elr: 00000000feaa47bc lr : 00000000feaa895c (reloc)"},
	{"u-boot", "RA: ", 0, "", stopAt(adjustedAs), readUBoot, "EPC: 0000000080001234 RA: 0000000080001230 reloc adjusted"},
	{"edk2", "(0x", 0, "ased on IP", stopAt(firmware), readFirmwareFault, "!!!! Find image based on IP(0x7E5A1234) /b/Build/x.dll (ImageBase=000000007E5A0000, EntryPoint=000000007E5A0560) !!!!"},
	{"zephyr", " 0x", 0, "", stopAt(address), readZephyr, "E: Faulting instruction address (r15/pc): 0x00023c8a"},
	{"swift", " 0x", 0, "", stopAt(address), readSwiftText, "1 [ra]          0x00007f8a3e6a1d90 <unknown> in libc.so.6"},
	{"webkit", " 0x", 0, "", stopAt(address), readWebKit, "16  0x7f1644eaa5c3 cc::ThreadProxy::BeginMainFrame()"},
	{"valgrind", " 0x", 0, "", stopAt(address, unnamedIn), readValgrind, "==6151==    by 0x10937A: demo::Widget::poke(int) (crash.cc:19)"},
	{"nuttx", "pc:0x", 0, "", stopAt(address), readPX4, " r8:0x00000000  sp:0x2007d820 lr:0x080148dd pc:0x08014900"},
	{"nuttx", "lr:0x", 0, "", stopAt(address), readPX4, " r8:0x00000000  sp:0x2007d820 lr:0x080148dd pc:0x08014900"},
	{"esp8266", "=0x", 0, "", stopAt(address), readBoardWord, "epc1=0x40201234 epc2=0x00000000 epc3=0x00000000 excvaddr=0x00000000 depc=0x00000000"},
	{"go", "=0x", 0, "", stopAt(address), readGo, "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x49e471]"},
	{"tizen", " 0x", 0, "", stopAt(address), readTizenAddress, "0x00007f8b2c3d4e5f: name() from /usr/lib/libx.so"},
	{"libunwind", " 0x", 0, "", stopAt(address), readUnwound, "0x7fe2a570fce1: (gsignal+0x141)"},
	{"libunwind", " 0x", 0, "", stopAt(address), readUnwoundRegisters, "ip = 0x55bd80bdd29c, sp = 0x7ffe2d350b40"},
	{"seastar", " 0x", 0, "", stopAt(address), readSeastarAddress, "Reactor stalled for 8 ms on shard 0. Backtrace: 0x3c53042 0x3c52380"},
	{"gnat", " 0x", 0, "", stopAt(address), readGNAT, "0x5576bbbd6893 0x7f1b5f645248 0x5576bbbd62af 0xfffffffffffffffe"},
	{"apple", " 0x", 0, "", stopAt(address, plusDecimal, missingWord), readApple, "10  YetAnotherMac    0x0000000108b7092b 0x10864e000 + 5384491"},
	{"apple", "(0x", 0, "", stopAt(address), readAppleList, "(0x18e27ad8c 0x18d4345ec 0x104f8c40f)"},
	{"apple", " 0x", 0, "", stopAt(address), readAppleList, "(0x18e27ad8c 0x18d4345ec 0x104f8c40f)"},
	{"llvm", " 0x", 0, "", stopAt(address), readPrettyStack, "1  libLLVM.so.22.1      0x00007f4a49eb5fd3 llvm::sys::RunSignalHandlers() + 131"},
	{"op-tee", " 0x", 0, "", stopAt(address), readOPTEE, "D/TC:4 0  0x000000003f0080ac"},
	{"fault", " ip", 0, "", stopAt(segfaultWord, ipColon), readFault, "traps: a.out[7] trap invalid opcode ip:401136 sp:7ffc0b2a1c58 error:0 in a.out[401000+1000]"},
	{"fault", ": unhandled ", 0, "", stopAt(unhandled), readFaultARM, "a.out[7]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in a.out[7a4,aaaab0a90000+1000]"},
	{"fault", ": unhandled ", 0, "", stopAt(unhandled), readFaultSignal, "a.out[7]: unhandled signal 11 code 0x1 at 0x0000000000000000 in a.out[7a4,2aaaaaa000+1000]"},
	{"fault", " nip ", 0, "", stopAt(segfaultWord), readFaultPowerPC, "a.out[7]: segfault (11) at 0 nip 10000b2c lr 10001024 code 1 in a.out[10000000+d0000]"},
	{"qnx", mapAddr, 0, "", stopAt(mapAddrWord), readQNX, "ip=0102cda8(/usr/lib/ldqnx.so.2@_band_get_aligned+0x000002b8) mapaddr=0002cda8. ref=00000000"},
	{"fault", "User process fault: ", 0, "", stopAt(userFault), readFaultS390, "User process fault: interruption code 0010 ilc:2 in a.out[43c4,1000000+8000]"},
	{"fault", "epc = ", 0, "", stopAt(epcWord), readFaultMIPS, "epc = 00400640 in a.out[400000+1000]"},
	{"gadget", " +", 0, "[0]", stopAt(firstID), readGadget, "[0]8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4 +1130; [1]529039c4d5e3a5e6d1b2c3d48fe381949ea8c764 +2a3b8; "},
	{"art", ") [captured native frame] (", 0, "", stopAt(capturedWord), readCaptured, "      at (art_quick_invoke_stub+612) (BuildId: b229f9d1b6196afaae086f29f029f907) [captured native frame] (libart.so)"},
	{"execinfo", execinfoWord, 0, "", stopAt(atPath), readExecinfo, "0x800cdd3f6 <_swapcontext+0x146> at /lib/libthr.so.3"},
	{"frr", mappedAt, 0, "", stopAt(mappedWord), readFRR, "BGP: zlog_signal+0xf5               7f48751a5255     7ffd12a12720 /lib/libfrr.so.0 (mapped at 0x7f4875106000)"},
	{scripts, "js:", 0, "", stopAt(scriptPlace, coloredPlace, coloredLine), readScript, "    at new K (file:///srv/app/dist/o.mjs:2:16)"},
	{scripts, "bundle:", 0, "", stopAt(bundlePlace), readScript, "    at inner (address at index.android.bundle:1:237392)"},
	{scripts, ".hbc:", 0, "", stopAt(hermesPlace), readScript, "    at inner (address at hm.hbc:1:96)"},
	{scripts, "bundle?", 0, "", stopAt(askedBundle), readAsked, "total@http://10.0.2.2:8081/index.bundle?platform=android&dev=true:99:12"},
	{scripts, "js?", 0, "", stopAt(askedScript), readAsked, "    at total (https://example.com/assets/app.js?v=123:1:237)"},
	{scripts, "bundle//", 0, "", stopAt(askedApple), readAsked, "    at total (http://localhost:8081/index.bundle//&platform=ios&dev=true:99:12)"},
	{scripts, updatesDir, 0, "", stopAt(updatePlace), readUpdate, "    at inner (address at /data/user/0/com.shop/files/.expo-internal/dd11be6f17c8:1:237392)"},
	{scripts, stackFollows, 0, "", stopAt(stackBegin), readStackFollows, "Error: no cart, stack:"},
	{scripts, "@", 0, "", stopAt(bareBegin, bareInStack), readBare, "total@1:557290"},
	{scripts, wordedFrame, 0, "", stopAt(wordedPlace), readWordedFrame, "	Frame: function:'total', file:'file:///data/data/com.shop/files/app/bundle.js', line: 1, column: 237"},
	{scripts, wordedError, 0, "", stopAt(errorPlace), readWordedError, `File: "file:///data/data/com.shop/files/app/bundle.js, line: 1, column: 236`},
	{scripts, consoleWord, 0, "", stopAt(consolePlaced), readConsole, "http://localhost:4200/main.js 0:73 Uncaught Error: no cart"},
	{scripts, sentryColumn, 0, "", stopAt(sentryPlace), readScriptObject, `{"filename":"app:///main.jsbundle","function":"value","lineno":19,"colno":2507,"in_app":true}`},
	{scripts, urlKey, 0, "", stopAt(urlPart), readScriptPart(urlKey), `      "abs_path": "app:///main.jsbundle",`},
	{scripts, fileKey, 0, "", stopAt(filePart), readScriptPart(fileKey), `      "filename": "app:///main.jsbundle",`},
	{scripts, functionKey, 0, "", stopAt(functionPart), readScriptPart(functionKey), `      "function": "value",`},
	{scripts, lineKey, 0, "", stopAt(linePart), readScriptPart(lineKey), `      "lineno": 19,`},
	{scripts, protocolColumn, 0, "", stopAt(protocolPlace), readScriptObject, `{"functionName":"App","scriptId":"44","url":"http://localhost:3000/main.js","lineNumber":0,"columnNumber":237}`},
	{scripts, nativeMethod, 0, "", stopAt(nativePlace), readScriptObject, `{"methodName":"value","file":"http://localhost:8081/index.bundle?platform=ios","lineNumber":99,"column":11}`},
	{scripts, engineScript, 0, "", stopAt(sourcePlace), readScriptObject, `{"line":695,"column":2496,"sourceURL":"main.jsbundle"}`},
	{"nativeaot", "!<BaseAddress>+0x", 0, "", stopAt(plusHex), readNativeAOT, "   at MyApp!<BaseAddress>+0xa532c"},
	{"ftrace", "[+0x", ']', "", stopAt(plusHex), readUserTrace, " => /usr/lib/libx.so[+0x1130] <00007fa52731c130>"},
	{"fortran", "Unknown  Unknown", 0, "", stopAt(unknownTwice), readFortran, "a.out              0000000000403D5A  Unknown               Unknown  Unknown"},
	{"matlab", "] 0x", 0, "", stopAt(decimalOffset), readMATLAB, "[  0] 0x00007fe9d1f1a8c6   /usr/local/MATLAB/libmwfl.so+00503070 _ZN2fl4diag7captureEv+00000158"},
	{"kotlin", "[0x", 0, "kfun:", stopAt(bracketHex), readKotlin, "        at 0   test.kexe   0x0000000107505672 kfun:kotlin.Error.<init>()kotlin.Error + 50 [0x1074d7000]"},
	{"apport", ":/", 0, "StacktraceAddressSignature:", stopAt(signatureWord), readApport, "StacktraceAddressSignature: /usr/bin/foo:11:/usr/lib/libc-2.31.so+4618b:/usr/bin/foo+12a4"},
	{"satyr", `"build_id_offset":`, 0, "", stopAt(idOffsetKey, satyrBegins, satyrStates), readSatyr, `{"address":140228936373381,"build_id":"8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4","build_id_offset":4400,"file_name":"/usr/lib64/libc.so.6"}`},
	{"datadog", `"relative_address":`, 0, "", stopAt(relativeKey), readDatadog, `{"ip":"0x63a7273b319b","build_id":"a7ba23793697db2e70bfbe6648326398eed71003","build_id_type":"GNU","file_type":"ELF","path":"/usr/bin/a","relative_address":"0x000000000008f19b"}`},
	{"apple", `"imageOffset":`, 0, "", stopAt(imageKey), readIPS, `{"imageOffset":24052,"symbol":"objc_msgSend","symbolLocation":32,"imageIndex":3}`},
	{"zephyr", " ra: ", 0, "", stopAt(linkColon), readZephyrRISCV, "E:       0: ra: 80000726 [func2+0x30]"},
	{"zephyr", "mepc: ", 0, "", stopAt(mepcColon), readZephyrRISCV, "E:    mepc: 80000726"},
	{"metrickit", `"offsetIntoBinaryTextSegment"`, 0, "", stopAt(metricFirst, metricKey), readMetricKit, `{"binaryUUID":"4C4C447D-5555-3144-A10B-863C84E8F2C6","offsetIntoBinaryTextSegment":1039,"sampleCount":1}`},
	{"bugsnag", bugsnagKey, 0, "", stopAt(bugsnagWord), readBugsnag, `{"frameAddress":"0x104f8c40f","machoLoadAddress":"0x104f8c000","machoUUID":"4C4C447D-5555-3144-A10B-863C84E8F2C6"}`},
	{"kscrash", crashKey, 0, "", stopAt(crashFrame, crashImages), readKSCrash, `"instruction_addr": 4367123784`},
	{"opentelemetry", locationKey, 0, "", stopAt(locationStart, dictionaryWord, tableWord), readOpenTelemetry, `{"mappingIndex":1,"address":"1402278","attributeIndices":[2]}`},
	{"perf", "[unknown] (", 0, "", stopAt(unknownWord), readPerfUnknown, "\t           14645 [unknown] (/usr/lib/x.so)"},
	{"bpftrace", " (/", 0, "", stopAt(pathParen), readBpftrace, "\t55889bb84160 middle+9 (/usr/bin/prog)"},
	{"addr2line", " 08", 0, addr2lineWord, stopAt(addr2line), readAddr2lineBoard, "Show more call stack info by run: addr2line -e CmBacktrace.axf -a -f 08001ce2 08001dad"},
	{"addr2line", " 000", 0, addr2lineWord, stopAt(addr2line), readAddr2lineBoard, "Show more call stack info by run: addr2line -e CmBacktrace.axf -a -f 00000e3e 00000e76"},
	{"esp8266", " 40", 0, "", stopAt(stackWord), readESPStack, "3ffffdc0:  40201234 3ffe8438 00000001 402012ab <"},
	{"mongodb", `"o":"`, 0, "", stopAt(mongoOffset, mongoEscaped), readMongo, `{"a":"561F0000BFF3","b":"561F00000000","o":"BFF3","s":"_ZN5mongo4mainEv","s+":"34"}`},
	{"stackwalk", `"module_offset":`, 0, "", stopAt(moduleOffset), readStackwalkObject, `{"frame":1,"function":null,"module":"libc.so.6","module_offset":"0x00000000000240b3"}`},
	{"swift", `"address": "0x`, 0, "", stopAt(returnWord, address), readSwift, `{ "kind": "returnAddress", "address": "0x00007f8000026f0a" }`},
	{"perf", "(inlined)", 0, "", stopAt(inlinedMark), readPerfInlined, "\t           14645 deref+0x25 (inlined)"},
}

// Formats returns the known formats.
func Formats() []Format { return append([]Format(nil), formats[:]...) }

// Table holds formats by what a line is searched for.
type Table struct {
	texts []text
	// byHex are the formats whose marks end in `0x` by the byte before that.
	byHex [256][]row
	// literals are those of all formats, each once.
	literals []match.Literal
	// candidates finds the literals that always count, and mapped those that count where mappings are known, too. All searches are made where they
	// are needed first: most logs have no frame.
	candidates, mapped func() *match.Scan
	// ofFiles and ofFilesMapped find the same but for the literals of scripts.
	ofFiles, ofFilesMapped func() *match.Scan
	// marks finds the texts.
	marks func() *match.Scan
}

// text is what a line is searched for.
type text struct {
	literal []byte
	formats []row // but for hexText
}

// row is a format, and the number of the text in the table's marks that it needs, 0 for none.
type row struct {
	*Format
	needs int
}

// A line is searched for three texts and more. The first one is that of by far the most frames, and the marks that end in `0x` are told
// apart by the byte before it.
const (
	hashText = iota
	hexText
	otherTexts
)

// known are the formats of this package.
var known = func() *Table {
	t, err := NewTable(formats[:]...)
	if err != nil {
		panic(err)
	}
	return t
}()

// Errors of NewTable.
var (
	errIncomplete = errors.New("a format needs a name, a mark, a literal, a reader and a sample")
	errMark       = errors.New("a mark of 0x needs the byte before it")
)

// NewTable returns the table of formats, which are asked in this order.
func NewTable(formats ...Format) (*Table, error) {
	t := &Table{texts: []text{hashText: {literal: []byte("#")}, hexText: {literal: hexPrefix}}}
	at := map[string]int{}
	var ofFiles []match.Literal
	for i := range formats {
		f := &formats[i]
		if f.Name == "" || f.Mark == "" || len(f.Literals) == 0 || f.Read == nil || f.Sample == "" {
			return nil, fmt.Errorf("format %q: %w", f.Name, errIncomplete)
		}
		if f.Mark == string(hexPrefix) {
			return nil, fmt.Errorf("format %q: %w", f.Name, errMark)
		}
		t.add(f)
		if f.Name != scripts {
			ofFiles = append(ofFiles, f.Literals...)
		}
		for _, l := range f.Literals {
			k, known := at[l.Text]
			if !known {
				k = len(t.literals)
				at[l.Text], t.literals = k, append(t.literals, l)
			}
			t.literals[k].When |= l.When
		}
	}
	t.candidates, t.mapped = searchFor(t.literals, match.Always), searchFor(t.literals, match.Always|match.Absolute)
	t.ofFiles, t.ofFilesMapped = searchFor(ofFiles, match.Always), searchFor(ofFiles, match.Always|match.Absolute)
	var marks []match.Literal
	for i := range t.texts {
		marks = append(marks, match.Literal{Text: string(t.texts[i].literal), When: match.Always})
	}
	number := func(r *row) {
		if r.Needs == "" {
			return
		}
		r.needs = slices.IndexFunc(marks, func(l match.Literal) bool { return l.Text == r.Needs })
		if r.needs < 0 {
			r.needs = len(marks)
			marks = append(marks, match.Literal{Text: r.Needs, When: match.Always})
		}
	}
	for _, rows := range t.byHex {
		for i := range rows {
			number(&rows[i])
		}
	}
	for _, of := range t.texts {
		for i := range of.formats {
			number(&of.formats[i])
		}
	}
	t.marks = searchFor(marks, match.Always)
	t.byHex['\t'], t.byHex['\n'] = t.byHex[' '], t.byHex[' ']
	return t, nil
}

// searchFor returns the search for the literals that count in one of the states of when.
func searchFor(literals []match.Literal, when match.When) func() *match.Scan {
	return sync.OnceValue(func() *match.Scan { return match.NewScan(literals, when) })
}

// add puts a format where its mark is found.
func (t *Table) add(f *Format) {
	if before, ok := strings.CutSuffix(f.Mark, "0x"); ok {
		c := before[len(before)-1]
		t.byHex[c] = append(t.byHex[c], row{Format: f})
		return
	}
	for i := range t.texts {
		if i != hexText && string(t.texts[i].literal) == f.Mark {
			t.texts[i].formats = append(t.texts[i].formats, row{Format: f})
			return
		}
	}
	t.texts = append(t.texts, text{[]byte(f.Mark), []row{{Format: f}}})
}

// Literals returns what a stream is searched for: a line without any of them holds no frame that can be looked up.
func Literals() []match.Literal { return known.Literals() }

// Literals returns those of all formats of the table.
func (t *Table) Literals() []match.Literal { return append([]match.Literal(nil), t.literals...) }

// Candidate reports, at the cost of one search, whether line can hold a frame worth looking for. Numbered lines without
// a module count only where a stack is being renumbered, absolute addresses only where a process's mappings are known.
func Candidate(line []byte, renumbering, mapped bool) bool {
	return known.Candidate(line, renumbering, mapped)
}

// Candidate is the same for the formats of the table.
func (t *Table) Candidate(line []byte, renumbering, mapped bool) bool {
	if renumbering && bytes.IndexByte(line, '#') >= 0 {
		return true
	}
	if mapped {
		return t.mapped().Next(line, 0) >= 0
	}
	return t.candidates().Next(line, 0) >= 0
}

// CandidateOfFile reports the same without renumbering, and not for frames of scripts: nothing in a log proves their files.
func CandidateOfFile(line []byte, mapped bool) bool {
	if mapped {
		return known.ofFilesMapped().Next(line, 0) >= 0
	}
	return known.ofFiles().Next(line, 0) >= 0
}
