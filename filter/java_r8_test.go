package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
)

// r8Case is a behavior of R8's retrace: what one of its cases shows, with classes of our own. If ours differs on purpose, differs says why.
type r8Case struct {
	name, text, trace, want string
	differs                 string
}

const (
	v1  = "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"1.0\"}\n"
	v2  = "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.0\"}\n"
	v22 = "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n"

	notShown     = "a method that the map does not have is that of another build, and so are the frames after it, unless an ID says that the map is the right one"
	keptName     = "a class that has kept its name stays byte for byte, its file, too"
	unprovenName = "only a frame below says that words are the name of an exception"
)

// r8Cases are named after the cases of src/test/java/com/android/tools/r8/retrace/stacktraces in R8's repository.
var r8Cases = []r8Case{
	{name: "ActualIdentityStackTrace", text: "net.desk.Lamp -> net.desk.Lamp:\n    void glow() -> glow\n",
		trace: "java.lang.AssertionError: I( 820) Could not find method desk.L$-CC.$default$glow, from desk.L$-CC.off  (vm)\n    W( 820) unable to resolve static method 11: Ldesk/L$-CC;.$default$glow (Ldesk/L;Z)Ljava/lang/String;  (vm)\n" +
			"    java.lang.ExceptionInInitializerError\n    \tat desk.Room.main(Room.java:9)\n    \tat dalvik.system.NativeStart.main(Native Method)\n    Caused by: java.lang.NoSuchMethodError: desk.L$-CC.$default$glow\n" +
			"    \tat desk.L$1.<init>(L.java:31)\n    \tat desk.L.<clinit>(L.java:30)\n    \t... 2 more\n"},
	{name: "ActualRetraceBotStackTrace", text: "net.shop.Order$Builder -> net.shop.Order$Builder:\n    1:6:net.shop.Order build():138:143 -> build\n    1:9:void check(int):50:58 -> i\nnet.shop.Stop -> net.shop.q.b:\n",
		trace: "net.shop.Failed: it failed\n\tat net.shop.Order$Builder.build(:6)\n\tat net.shop.Test.run(Test.java:104)\n\nCaused by:\nnet.shop.q.b: at <no file>:2:33\n\tat net.shop.Order$Builder.i(:2)\n\t... 6 more\n",
		want:  "net.shop.Failed: it failed\n\tat net.shop.Order$Builder.build(Order.java:143)\n\tat net.shop.Test.run(Test.java:104)\n\nCaused by:\nnet.shop.Stop: at <no file>:2:33\n\tat net.shop.Order$Builder.check(Order.java:51)\n\t... 6 more\n"},
	{name: "ActualRetraceBotStackTraceWithInfo", text: "# compiler: R8\n# compiler_version: 1.6\n# an unknown remark\nnet.shop.Order -> a:\n    # {\"id\":\"net.shop.unknown\"}\n    1:6:void build():138:143 -> b\n",
		trace: "\tat a.b(:6)\n", want: "\tat net.shop.Order.build(Order.java:143)\n"},
	{name: "AmbiguousInlineFramesStackTrace", text: "net.bank.Safe -> k.a:\n    1:1:void in(int):42:44 -> a\n    1:1:void mid(int, int):32 -> a\n    1:1:void out(int, int):10 -> a\n",
		trace: "net.bank.Shut:\n    at k.a.a(Unknown Source:1)\n",
		want:  "net.bank.Shut:\n    at net.bank.Safe.in(Safe.java:42)\n    <OR> at net.bank.Safe.in(Safe.java:43)\n    <OR> at net.bank.Safe.in(Safe.java:44)\n    at net.bank.Safe.mid(Safe.java:32)\n    at net.bank.Safe.out(Safe.java:10)\n"},
	{name: "AmbiguousMethodVerboseStackTrace", text: "net.bank.Main -> k.a:\n    net.bank.Foo go(java.lang.String[],net.bank.Bar) -> a\n    net.bank.Foo go(java.lang.String[]) -> b\n    void go(net.bank.Bar) -> b\n",
		trace:   "Exception in thread \"main\" java.lang.NullPointerException\n\tat k.a.c(Foo.java)\n\tat k.a.b(Bar.java)\n\tat k.a.a(Baz.java)\n",
		want:    "Exception in thread \"main\" java.lang.NullPointerException\n\tat k.a.c(Foo.java)\n\tat k.a.b(Bar.java)\n\tat k.a.a(Baz.java)\n",
		differs: notShown},
	{name: "AmbiguousMissingLineStackTrace", text: "net.bank.Safe -> k.a:\n    void open(int) -> a\n    void close(int, int) -> a\n",
		trace: "net.bank.Shut: foo[parens](Source:3)\n    at k.a.a(Unknown Source:7)\n    at k.a.a(Unknown Source:8)\n    at net.bank.Safe.main(Unknown Source)\nCaused by: net.bank.Shut: foo[parens](Source:3)\n    at k.a.a(Unknown Source:9)\n    ... 42 more\n",
		want: "net.bank.Shut: foo[parens](Source:3)\n    at net.bank.Safe.close(Safe.java:7)\n    <OR> at net.bank.Safe.open(Safe.java:7)\n    at net.bank.Safe.close(Safe.java:8)\n    <OR> at net.bank.Safe.open(Safe.java:8)\n    at net.bank.Safe.main(Unknown Source)\n" +
			"Caused by: net.bank.Shut: foo[parens](Source:3)\n    at net.bank.Safe.close(Safe.java:9)\n    <OR> at net.bank.Safe.open(Safe.java:9)\n    ... 42 more\n"},
	{name: "AmbiguousMultipleInlineStackTrace", text: "net.bank.Till -> net.bank.Till:\n    10:10:void some.first(int):10:10 -> zza\n    10:10:void pay(int):10 -> zza\n    11:12:void pay(int):11:12 -> zza\n    10:10:void some.second(int, int):20:20 -> zza\n    10:10:void pay(int, int):42 -> zza\n",
		trace: "java.lang.IndexOutOfBoundsException\n\tat net.bank.Till.zza(SourceFile:10)\n",
		want:  "java.lang.IndexOutOfBoundsException\n\tat some.first(some.java:10)\n\t<OR> at some.second(some.java:20)\n\tat net.bank.Till.pay(Till.java:10)\n\t<OR> at net.bank.Till.pay(Till.java:42)\n"},
	{name: "AmbiguousStackTrace", text: "net.bank.Safe -> k.a:\n    void open(int) -> a\n    void close(int, int) -> a\n",
		trace: "net.bank.Shut: foo[parens](Source:3)\n    at k.a.a(Unknown Source)\n    at net.bank.Safe.main(Unknown Source)\nCaused by: net.bank.Shut: foo[parens](Source:3)\n    at k.a.a(Unknown Source)\n    ... 42 more\n",
		want:  "net.bank.Shut: foo[parens](Source:3)\n    at net.bank.Safe.close(Safe.java)\n    <OR> at net.bank.Safe.open(Safe.java)\n    at net.bank.Safe.main(Unknown Source)\nCaused by: net.bank.Shut: foo[parens](Source:3)\n    at net.bank.Safe.close(Safe.java)\n    <OR> at net.bank.Safe.open(Safe.java)\n    ... 42 more\n"},
	{name: "AmbiguousWithMultipleLineMappingsStackTrace", text: "net.bank.Till -> net.bank.Till:\n    10:10:void pay(int):10:10 -> zza\n    11:11:void pay(int):11:11 -> zza\n    12:12:void pay(int):12:12 -> zza\n",
		trace: "java.lang.IndexOutOfBoundsException\n\tat java.util.ArrayList.get(ArrayList.java:411)\n\tat net.bank.Till.zza(Unknown)\n",
		want:  "java.lang.IndexOutOfBoundsException\n\tat java.util.ArrayList.get(ArrayList.java:411)\n\tat net.bank.Till.pay(Till.java)\n"},
	{name: "AmbiguousWithSignatureNonVerboseStackTrace", text: overloads, trace: "java.lang.Error\n\tat net.bank.Till.zza(Unknown)\n", want: "java.lang.Error\n\tat net.bank.Till.pay(Till.java)\n"},
	{name: "AmbiguousWithSignatureStackTrace", text: overloads, trace: "java.lang.Error\n\tat net.bank.Till.zza(SourceFile:12)\n", want: "java.lang.Error\n\tat net.bank.Till.pay(Till.java:12)\n"},
	{name: "AmbiguousWithSignatureVerboseStackTrace", text: overloads, trace: "\tat net.bank.Till.zza(Unknown)\n", want: "\tat net.bank.Till.pay(Till.java)\n",
		differs: "there is no verbose form: without their arguments, the overloads are one line"},
	{name: "AutoStackTrace", text: "net.auto.Wheel -> qtr:\n    46:46:void turn(int):200:200 -> a\n    17:19:void turn(int,int):23:25 -> a\n",
		trace: "java.io.IOException: SENDER\n\tat qtr.a(:com.google.android.gms@203915081@20.39.15 (060808-335085812):46)\n\tat qtr.a(:com.google.android.gms@203915081@20.39.15 (060808-335085812):18)\n",
		want:  "java.io.IOException: SENDER\n\tat net.auto.Wheel.turn(Wheel.java:200)\n\tat net.auto.Wheel.turn(Wheel.java:24)\n"},
	{name: "CircularReferenceStackTrace", text: "net.ring.One -> A.A:\nnet.ring.Two -> A.B:\n",
		trace: "        [CIRCULAR REFERENCE: A.A]\n [CIRCULAR REFERENCE:A.B]\n        [CIRCULAR REFERENCE: None.existing.class]\n        [CIRCULAR REFERENCE: A.A] \n        [CIRCU:AA]\n        [CIRCULAR REFERENCE: A.A\n        [CIRCULAR REFERENCE: ]\n        [CIRCULAR REFERENCE: None existing class]\n",
		want:  "        [CIRCULAR REFERENCE: net.ring.One]\n [CIRCULAR REFERENCE:net.ring.Two]\n        [CIRCULAR REFERENCE: None.existing.class]\n        [CIRCULAR REFERENCE: net.ring.One] \n        [CIRCU:AA]\n        [CIRCULAR REFERENCE: net.ring.One\n        [CIRCULAR REFERENCE: ]\n        [CIRCULAR REFERENCE: None existing class]\n"},
	{name: "ClassWithDashStackTrace", text: v1 + "Unused -> L$-CC:\n# {\"id\":\"com.android.tools.r8.synthesized\"}\n    66:66:void L.glow() -> glow\n    66:66:void glow():0 -> glow\n    # {\"id\":\"com.android.tools.r8.synthesized\"}\n",
		trace: "java.lang.NullPointerException\n\tat L$-CC.glow(L.java:66)\n\tat Main.main(Main.java:73)\n", want: "java.lang.NullPointerException\n\tat L.glow(L.java:66)\n\tat Main.main(Main.java:73)\n"},
	{name: "ColonInFileNameStackTrace", text: fruit, trace: "  at f.s(:foo::bar:1)\n  at f.t(:foo::bar:)\n", want: "  at net.Fruit.straw(Fruit.kt:99)\n  at net.Fruit.passion(Fruit.kt:121)\n"},
	{name: "DifferentLineNumberSpanStackTrace", text: "net.bank.Main -> a:\n    void pay(java.lang.String):42:44 -> a\n", trace: "Exception in thread \"main\" java.lang.Error\n\tat a.a(Unknown Source:1)\n",
		want: "Exception in thread \"main\" java.lang.Error\n\tat net.bank.Main.pay(Main.java:42)\n\t<OR> at net.bank.Main.pay(Main.java:43)\n\t<OR> at net.bank.Main.pay(Main.java:44)\n"},
	{name: "ExceptionMessageWithClassNameInMessage", text: "foo.bar.baz -> net:\n",
		trace: "10-26 19:26:24.749 10159 26250 26363 E Shop.crl: Exception\n10-26 19:26:24.749 10159 26250 26363 E Shop.crl: java.util.concurrent.ExecutionException: ary: eu: Exception in Request: net::ERR_CLOSED, ErrorCode=5\n"},
	{name: "FileNameExtensionStackTrace", text: "foo.bar.baz -> a.b.c:\nMe -> R:\n    void main() -> main\n",
		trace: "a.b.c: Problem\n    at R.main(App:800)\n    at R.main(Native Method)\n    at R.main(Main.java:)\n    at R.main(Main.kt:1)\n    at R.main(Main.foo)\n    at R.main()\n    at R.main(Unknown)\n    at R.main(SourceFile)\n    at R.main(SourceFile:1)\nSuppressed: a.b.c: first\n    at R.main(App:184)\n    ... 7 more\n",
		want:  "foo.bar.baz: Problem\n    at Me.main(Me.java:800)\n    at Me.main(Native Method)\n    at Me.main(Me.java)\n    at Me.main(Me.kt:1)\n    at Me.main(Me.java)\n    at Me.main(Me.java)\n    at Me.main(Me.java)\n    at Me.main(Me.java)\n    at Me.main(Me.java:1)\nSuppressed: foo.bar.baz: first\n    at Me.main(Me.java:184)\n    ... 7 more\n"},
	{name: "FoundMethodVerboseStackTrace", text: "net.bank.Main -> k.a:\n    7:7:net.bank.Foo go(java.lang.String[],net.bank.Bar):102 -> a\n", trace: "Exception in thread \"main\" java.lang.Error\n\tat k.a.a(Foo.java:7)\n",
		want: "Exception in thread \"main\" java.lang.Error\n\tat net.bank.Main.go(Main.java:102)\n"},
	{name: "IdentityMappingStackTrace", text: "net.One -> a:\n    10:10:void foo(int) -> a\nnet.Other -> b:\n    11:11:void bar(int, int) -> a\n    11:11:boolean baz(int, int) -> a\nnet.Third -> c:\n    12:12:void qux(int) -> a\n    12:12:void other(int, int) -> b\n    12:12:boolean quux(int, int) -> a\n",
		trace:   "java.lang.Error\n\tat a.a(:10)\n\tat b.a(:11)\n\tat c.a(:12)\n",
		want:    "java.lang.Error\n\tat net.One.foo(One.java:10)\n\tat net.Other.bar(Other.java:11)\n\t<OR> at net.Other.baz(Other.java:11)\n\tat net.Third.quux(Third.java:12)\n\t<OR> at net.Third.qux(Third.java:12)\n",
		differs: "without lines of the source, functions of one range are not inlined into each other: ProGuard writes lambdas of one line so, of which R8 makes a stack"},
	{name: "InlineFileNameStackTrace", text: "net.bank.Main -> net.bank.Main:\n    3:3:void foo.Bar$Baz.baz(long):0:0 -> main\n    3:3:void Foo$Bar.bar(int):2 -> main\n    3:3:void net.bank.Main$Foo.go(java.lang.String):8 -> main\n    3:3:void main(java.lang.String[]):7 -> main\n",
		trace: "\tat net.bank.Main.main(Main.dummy:3)\n", want: "\tat foo.Bar$Baz.baz(Bar.java)\n\tat Foo$Bar.bar(Foo.java:2)\n\tat net.bank.Main$Foo.go(Main.java:8)\n\tat net.bank.Main.main(Main.java:7)\n"},
	{name: "InlineFileNameWithInnerClassesStackTrace", text: "net.bank.Main -> net.bank.Main:\n    3:3:void foo.Bar$Baz$Qux.baz(long):0:0 -> main\n    3:3:void main(java.lang.String[]):7 -> main\n",
		trace: "\tat net.bank.Main.main(Main.dummy:3)\n", want: "\tat foo.Bar$Baz$Qux.baz(Bar.java)\n\tat net.bank.Main.main(Main.java:7)\n"},
	{name: "InlineInOutlineStackTrace", text: v2 + "out.Class -> a:\n    1:2:int some.inner():75:76 -> a\n    1:2:int out():0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\n" + callsite,
		trace: "java.io.IOException: SENDER\n\tat a.a(:2)\n\tat b.s(:27)\n", want: "java.io.IOException: SENDER\n\tat some.inner(some.java:76)\n\tat foo.Baz.call(Baz.java:98)\n\tat some.Class.call(Class.java:24)\n"},
	{name: "InlineNoLineAssumeNoInlineAmbiguousStackTrace", text: "net.Main -> a:\n    void other(java.lang.String[]) -> foo\n    2:2:void go(java.lang.String):0:0 -> foo\n    2:2:void main(java.lang.String[]):0 -> foo\n",
		trace: "\tat a.foo(Unknown Source)\n", want: "\tat net.Main.other(Main.java)\n"},
	{name: "InlineNoLineNumberAssumeNoInlineStackTrace", text: "net.Main -> a:\n    1:1:void go(java.lang.String):0:0 -> foo\n    1:1:void main(java.lang.String[]):0 -> foo\n    2:2:void stop(int):0:0 -> foo\n    2:2:void main(java.lang.String[]):0 -> foo\n",
		trace: "\tat a.foo(Unknown Source)\n", want: "\tat net.Main.main(Main.java)\n"},
	{name: "InlineNoLineNumberStackTrace", text: "net.Main -> net.Main:\n    1:1:void go(java.lang.String):0:0 -> main\n    1:1:void main(java.lang.String[]):0 -> main\n    3:3:void deep(long):0:0 -> main\n    3:3:void mid(int):0 -> main\n    3:3:void go(java.lang.String):0 -> main\n    3:3:void main(java.lang.String[]):0 -> main\n",
		trace: "\tat net.Main.main(:3)\n", want: "\tat net.Main.deep(Main.java)\n\tat net.Main.mid(Main.java)\n\tat net.Main.go(Main.java)\n\tat net.Main.main(Main.java)\n"},
	{name: "InlineNoLineWithBaseEntryNumberAssumeNoInlineStackTrace", text: "net.Main -> a:\n    void main(java.lang.String[]) -> foo\n    1:1:void go(java.lang.String):0:0 -> foo\n    1:1:void main(java.lang.String[]):0 -> foo\n",
		trace: "\tat a.foo(Unknown Source)\n", want: "\tat net.Main.main(Main.java)\n"},
	{name: "InlinePreambleNoOriginalStackTrace", text: "net.Main -> a:\n    0:1:void main(java.lang.String[]) -> foo\n    2:2:void go(java.lang.String):0:0 -> foo\n    2:2:void main(java.lang.String[]):0 -> foo\n",
		trace: "\tat a.foo(Unknown Source)\n", want: "\tat net.Main.main(Main.java)\n"},
	{name: "InlinePreambleWithOriginalStackTrace", text: "net.Main -> a:\n    0:1:void main(java.lang.String[]):0:0 -> foo\n    2:2:void go(java.lang.String):0:0 -> foo\n    2:2:void main(java.lang.String[]):0 -> foo\n",
		trace: "\tat a.foo(Unknown Source)\n", want: "\tat net.Main.main(Main.java)\n", differs: "R8 also shows the inlined functions of other lines, which its test calls a fault"},
	{name: "InlineRemoveFrameJava17StackTrace", text: v22 + "net.Class -> A:\n    1:5:void inner():90:90 -> a\n    1:5:void caller():97 -> a\n      # {'id':'com.android.tools.r8.rewriteFrame','conditions':['throws(Ljava/lang/NullPointerException;)'],'actions':['removeInnerFrames(1)']}\n    1:5:void outer():107 -> a\n    1:1:void main():111:111 -> main\n",
		trace: "java.lang.NullPointerException\n\tat A.a(SourceFile:1)\n\tat A.main(SourceFile:1)\n", want: "java.lang.NullPointerException\n\tat net.Class.caller(Class.java:97)\n\tat net.Class.outer(Class.java:107)\n\tat net.Class.main(Class.java:111)\n"},
	{name: "InlineSourceFileContextStackTrace", text: "net.Lib -> net.Lib:\n# {\"id\":\"sourceFile\",\"fileName\":\"Lib.kt\"}\n    void <init>() -> <init>\nnet.Object -> net.Object:\n    void <init>() -> <init>\n    1:1:void net.Lib.fail():22:22 -> main\n    1:1:void net.Lib.call():19 -> main\n    1:1:void main(java.lang.String[]):32 -> main\n    2:7:void print(java.lang.Exception):19:24 -> main\n    2:7:void main(java.lang.String[]):34 -> main\n",
		trace: "  at net.Object.main(Object.java:1)\n", want: "  at net.Lib.fail(Lib.kt:22)\n  at net.Lib.call(Lib.kt:19)\n  at net.Object.main(Object.java:32)\n"},
	{name: "InlineSourceFileStackTrace", text: "foo.Bar -> a:\n# {\"id\":\"sourceFile\",\"fileName\":\"One.kt\"}\nfoo.Baz -> b:\n# {\"id\":\"sourceFile\",\"fileName\":\"Two.kt\"}\n    1:1:void foo.Bar.go():22:22 -> c\n    1:1:void main(java.lang.String[]):32 -> c\n",
		trace: "  at b.c(Unknown Source:1)\n", want: "  at foo.Bar.go(One.kt:22)\n  at foo.Baz.main(Two.kt:32)\n"},
	{name: "InlineWithLineNumbersStackTrace", text: "net.Main -> net.Main:\n    1:1:void main(java.lang.String[]):101:101 -> main\n    2:4:void one(java.lang.String):94:96 -> main\n    2:4:void main(java.lang.String[]):102 -> main\n    6:7:void three(long):80:81 -> main\n    6:7:void two(int):88 -> main\n    6:7:void one(java.lang.String):96 -> main\n    6:7:void main(java.lang.String[]):102 -> main\n",
		trace: "\tat net.Main.main(Test.java:7)\n", want: "\tat net.Main.three(Main.java:81)\n\tat net.Main.two(Main.java:88)\n\tat net.Main.one(Main.java:96)\n\tat net.Main.main(Main.java:102)\n"},
	{name: "InvalidMinifiedRangeStackTrace", text: "net.Main -> m:\n    5:3:void main(java.lang.String[]) -> a\n    9:0:void end() -> a\n", trace: "\tat m.a(Main.dummy:3)\n\tat m.a(Main.dummy:9)\n", want: "\tat net.Main.main(Main.java:3)\n\tat net.Main.end(Main.java:9)\n"},
	{name: "InvalidOriginalRangeStackTrace", text: "net.Main -> m:\n    2:5:void main(java.lang.String[]):5:2 -> a\n", trace: "\tat m.a(Main.dummy:3)\n", want: "\tat net.Main.main(Main.java:3)\n"},
	{name: "InvalidStackTrace", text: "foo.bar.baz -> a.b.c:\n", trace: "  hulubulu\n  XXX, where are you\na.b.c: Problem\n . . . 7 more\n  ... 7 more\n", differs: unprovenName},
	{name: "LongLineStackTrace", text: "foo.bar.baz -> asdf:\n", trace: strings.Repeat("asdf():::fas 90 0fa0)S)DFD)SDF at as df(:asdfas0dfasd0fa0)S)DFD)SDF_SD)FSDK;dfjaklsdf())( ", 200) + "\n"},
	{name: "MapVersionWarningStackTrace", text: "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"99.0\"}\nsome.Class -> a:\n    void go() -> b\n",
		trace: "Exception in thread \"main\" java.lang.Error\n\tat a.b(:4)\n\tat a.a(:4)\n", want: "Exception in thread \"main\" java.lang.Error\n\tat some.Class.go(Class.java:4)\n\tat a.a(:4)\n", differs: notShown},
	{name: "MemberFieldOverlapStackTrace", text: "foo.Bar -> a.A:\n    1:1:int method():5 -> a\n    int field -> a\n", trace: "\tat a.A.a(Bar.java:1)\n", want: "\tat foo.Bar.method(Bar.java:5)\n"},
	{name: "MovedSynthetizedInfoStackTraceTest", text: v22 + "net.Base$Builder -> foo.bar:\n    1:1:void in(java.util.Collection):0:0 -> in$synthetic\n    1:1:void in$synthetic(java.util.Collection):0:0 -> in$synthetic\n    2:2:void in(java.util.Collection):206:206 -> in$synthetic\n    2:2:void in$synthetic(java.util.Collection):0:0 -> in$synthetic\n" +
		"      # {\"id\":\"com.android.tools.r8.synthesized\"}\n    4:4:void in(java.util.Collection):208:208 -> in$synthetic\n    4:4:void in$synthetic(java.util.Collection):0 -> in$synthetic\n",
		trace: "java.lang.RuntimeException: foobar\n\tat foo.bar.in$synthetic(Base.java:2)\n\tat foo.bar.in$synthetic(Base.java:4)\n", want: "java.lang.RuntimeException: foobar\n\tat net.Base$Builder.in(Base.java:206)\n\tat net.Base$Builder.in(Base.java:208)\n"},
	{name: "MultipleDotsInFileNameStackTrace", text: fruit, trace: "  at f.s(foo.bar.baz:1)\n", want: "  at net.Fruit.straw(Fruit.kt:99)\n"},
	{name: "MultipleLinesNoLineNumberStackTrace", text: "net.Main -> foo.a:\n    0:0:void in(java.lang.String):42:42 -> a\n    0:0:void main(java.lang.String[]):28 -> a\n    1:1:void main(java.lang.String[]):153 -> a\n",
		trace: "\tat foo.a.a(Unknown Source)\n", want: "\tat net.Main.in(Main.java:42)\n\tat net.Main.main(Main.java:28)\n"},
	{name: "MultipleMapVersionsWarningStackTrace", text: "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"98.0\"}\nsome.Class -> a:\n    void go() -> b\n    # {\"id\":\"com.android.tools.r8.synthesized\"}\n    void run() -> c\n# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"0.9\"}\nsome.other.Class -> x:\n    void go() -> b\n    # {\"id\":\"com.android.tools.r8.synthesized\"}\n",
		trace: "\tat a.b(:4)\n\tat a.c(:5)\n\tat x.b(:6)\n", want: "\tat some.Class.run(Class.java:5)\n\tat some.other.Class.go(Class.java:6)\n"},
	{name: "MultipleOriginalLinesNoLineNumberStackTrace", text: "net.Main -> a:\n    void pay(java.lang.String):42:43 -> a\n", trace: "\tat a.a(Unknown Source)\n", want: "\tat net.Main.pay(Main.java)\n"},
	{name: "NamedModuleStackTrace", text: "net.Loader -> cl.a:\nnet.Main -> a:\n    101:101:void main(java.lang.String[]):1:1 -> a\n    12:12:void foo(java.lang.String[]):2:2 -> b\n    80:80:void bar(java.lang.String[]):3:3 -> c\n    81:81:void baz(java.lang.String[]):4:4 -> d\n    9:9:void qux(java.lang.String[]):5:5 -> e\n",
		trace:   "Fake: this is\n\tat cl.a/named_module@9.0/a.a(:101)\n\tat cl.a//a.b(App.java:12)\n\tat named_module@2.1/a.c(Lib.java:80)\n\tat named_module/a.d(Lib.java:81)\n\tat a.e(MyClass.java:9)\n",
		want:    "Fake: this is\n\tat cl.a/named_module@9.0/net.Main.main(Main.java:1)\n\tat cl.a//net.Main.foo(Main.java:2)\n\tat named_module@2.1/net.Main.bar(Main.java:3)\n\tat named_module/net.Main.baz(Main.java:4)\n\tat net.Main.qux(Main.java:5)\n",
		differs: "the name of a class loader is none of a class, and R8 does not run its test, which has it replaced"},
	{name: "NoObfuscatedLineNumberWithOverrideTest", text: "net.Main -> m:\n    void main(java.lang.String):3 -> main\n    void defined():7 -> defined\n    void defined(java.lang.String):11 -> defined\n    void over1():7 -> over\n    void over2(java.lang.String):11 -> over\n    void mainPC(java.lang.String[]):42 -> mainPC\n",
		trace: "\tat m.main(Unknown Source)\n\tat m.over(Unknown Source)\n\tat m.defined(Unknown Source)\n\tat m.mainPC(:3)\n",
		want:  "\tat net.Main.main(Main.java:3)\n\tat net.Main.over1(Main.java)\n\t<OR> at net.Main.over2(Main.java)\n\tat net.Main.defined(Main.java)\n\tat net.Main.mainPC(Main.java:42)\n"},
	{name: "NoObfuscationRangeMappingWithStackTrace", text: "net.Main -> foo:\n    void foo(long):1:1 -> a\n    void bar(int):3 -> b\n    void baz():0:0 -> c\n    void main(java.lang.String[]):0 -> d\n",
		trace: "\tat foo.a(Bar.dummy:0)\n\tat foo.b(Foo.dummy:2)\n\tat foo.c(Baz.dummy:8)\n\tat foo.d(Qux.dummy:7)\n", want: "\tat net.Main.foo(Main.java:1)\n\tat net.Main.bar(Main.java:3)\n\tat net.Main.baz(Main.java)\n\tat net.Main.main(Main.java)\n"},
	{name: "NpeInlineRetraceStackTrace", text: v2 + npe, trace: "Exception in thread \"main\" java.lang.NullPointerException\n\tat a.a(:4)\n\tat a.a(:4)\n", want: "Exception in thread \"main\" java.lang.NullPointerException\n\tat some.Class.caller(Class.java:7)\n\tat other.Class.check(Class.java:23)\n\tat some.Class.caller(Class.java:7)\n"},
	{name: "NullStackTrace", text: "foo.bar.baz -> a.b.c:\n", trace: "a.b.c: Problem\n    at r8.main(App:800)\n\n    at r8.go(App:184)\n    ... 7 more\n", want: "foo.bar.baz: Problem\n    at r8.main(App:800)\n\n    at r8.go(App:184)\n    ... 7 more\n", differs: "a text has no null lines: an empty one is a line"},
	{name: "ObfucatedExceptionClassStackTrace", text: "foo.bar.baz -> a.b.c:\n", trace: "a.b.c: Problem\n    at r8.main(App:800)\nCaused by: a.b.c: first\n    at r8.go(App:184)\n    ... 7 more\n", want: "foo.bar.baz: Problem\n    at r8.main(App:800)\nCaused by: foo.bar.baz: first\n    at r8.go(App:184)\n    ... 7 more\n"},
	{name: "ObfuscatedRangeToSingleLineStackTrace", text: "foo.bar.Baz -> a:\n    1:10:void qux():27:27 -> a\n    11:15:void qux():42 -> a\n    1337:1400:void foo.bar.Baz.quux():113:113 -> b\n    1337:1400:void quuz():72 -> b\n",
		trace: "Unknown: fake\n  at a.a(:8)\n  at a.a(:13)\n  at a.b(:1399)\n", want: "Unknown: fake\n  at foo.bar.Baz.qux(Baz.java:27)\n  at foo.bar.Baz.qux(Baz.java:42)\n  at foo.bar.Baz.quux(Baz.java:113)\n  at foo.bar.Baz.quuz(Baz.java:72)\n"},
	{name: "OutlineInOutlineStackTrace", text: v2 + "out1.Class -> a:\n    4:4:int out():0:0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\nout2.Class -> b:\n    6:6:int out():0:0 -> a\n# {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"4\":43}}\n    42:43:int out():0:0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\n" +
		"some.Class -> c:\n    1:1:void foo.Baz.qux():42:42 -> a\n    10:11:int call(int):98:98 -> a\n    28:28:int call(int):0:0 -> a\n# {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"42\":10,\"43\":11}}\n",
		trace: "java.io.IOException: SENDER\n\tat a.a(:4)\n\tat b.a(:6)\n\tat c.a(:28)\n", want: "java.io.IOException: SENDER\n\tat some.Class.call(Class.java:98)\n"},
	{name: "OutlineSimpleStackTrace", text: "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"experimental\"}\nout.Class -> a:\n    1:2:int out() -> a\n# {'id':'com.android.tools.r8.outline'}\n" + callsite,
		trace: "java.io.IOException: SENDER\n\tat a.a(:2)\n\tat b.s(:27)\n", want: "java.io.IOException: SENDER\n\tat foo.Baz.call(Baz.java:98)\n\tat some.Class.call(Class.java:24)\n"},
	{name: "OutlineWithInliningStackTrace", text: v2 + "out.Class -> a:\n    1:2:int out():0 -> a\n# {\"id\":\"com.android.tools.r8.outline\"}\n" + callsite,
		trace: "java.io.IOException: SENDER\n\tat a.a(:2)\n\tat b.s(:27)\n\tat b.s(:1)\n", want: "java.io.IOException: SENDER\n\tat foo.Baz.call(Baz.java:98)\n\tat some.Class.call(Class.java:24)\n\tat some.Class.qux(Class.java:42)\n"},
	{name: "OutsideLineRangeStackTraceTest", text: "some.other.Class -> a:\n    void one():42:42 -> a\nsome.Class -> b:\n    1:3:void two():11:13 -> a\n    4:4:void two():10:10 -> a\n", trace: "java.io.IOException: SENDER\n\tat a.a(:2)\n\tat a.a(Unknown Source)\n\tat b.a(:27)\n\tat b.a(Unknown Source)\n",
		want: "java.io.IOException: SENDER\n\tat some.other.Class.one(Class.java:42)\n\tat some.other.Class.one(Class.java:42)\n\tat b.a(:27)\n\tat b.a(Unknown Source)\n", differs: notShown},
	{name: "OverloadSameLineTest", text: "net.Main -> foo.a:\n    1:1:void over():7:7 -> over\n    1:1:void over(java.lang.String):13:13 -> over\n    1:1:void over(int):15:15 -> over\n", trace: "\tat foo.a.over(Main.java:1)\n", want: "\tat net.Main.over(Main.java:7)\n\tat net.Main.over(Main.java:13)\n\tat net.Main.over(Main.java:15)\n"},
	{name: "OverloadedWithAndWithoutRangeStackTrace", text: "some.Class -> A:\n    java.util.List select(java.util.List) -> a\n    3:3:void sync():425:425 -> a\n    void cancel(java.lang.String[]) -> a\n", trace: "  at A.a(SourceFile:3)\n", want: "  at some.Class.sync(Class.java:425)\n"},
	{name: "PGStackTrace", text: "net.Other -> b:\n", trace: "09-16 15:43:01.249 23316 23316 E AndroidRuntime: java.lang.NullPointerException: Attempt to invoke 'boolean net.foo(net.foo.Data$Key)' on null\n09-16 15:43:01.249 23316 23316 E AndroidRuntime:        at net.apps.Controller.onChanged(PG:1087)\n", differs: keptName},
	{name: "PreambleLineNumberStackTrace", text: "kotlin.ResultKt -> kotlin.t:\n    1:1:void fail(java.lang.Throwable):122:122 -> a\n    2:2:void fail(java.lang.Throwable):124:124 -> a\n",
		trace: "  at kotlin.t.a(SourceFile)\n  at kotlin.t.a(SourceFile:0)\n  at kotlin.t.a(SourceFile:1)\n  at kotlin.t.a(SourceFile:2)\n", want: "  at kotlin.ResultKt.fail(Result.kt)\n  at kotlin.ResultKt.fail(Result.kt)\n  at kotlin.ResultKt.fail(Result.kt:122)\n  at kotlin.ResultKt.fail(Result.kt:124)\n",
		differs: "there is no line 0: R8 writes it, and its test says that it should not"},
	{name: "ResidualSignatureOnOuterFrameStackTrace", text: v22 + "kotlinx.BuildersKt -> mapping:\n    1:1:void pruned.class.go(kotlinx.Scope):10:10 -> g\n    2:2:void pruned.class.go(kotlinx.Scope):0:0 -> g\n    2:2:void pruned.class.go(kotlinx.Scope):0 -> g\n    # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"(LX;)V\"}\n    3:3:void pruned.class.go(kotlinx.Scope):30:30 -> g\n",
		trace: "\tat mapping.g(SourceFile)\n", want: "\tat pruned.class.go(class.java)\n"},
	{name: "RetraceAssertionErrorStackTrace", text: "net.Core -> r.f:\n    java.util.List stack -> b\n    1:4:void <init>(net.Mapper,java.util.List):99:102 -> <init>\n    1:3:net.Core$Result run():106:108 -> a\n    47:50:void line(java.util.List,int):116:119 -> a\nnet.Core$Node -> r.h:\n    1:4:void <init>(java.util.List):28:31 -> <init>\n",
		trace: "java.lang.AssertionError\n        at r.h.<init>(:4)\n        at r.f.a(:48)\n        at r.f.a(:2)\n        at net.Tests.testNull(Tests.java:73)\n", want: "java.lang.AssertionError\n        at net.Core$Node.<init>(Core.java:31)\n        at net.Core.line(Core.java:117)\n        at net.Core.run(Core.java:107)\n        at net.Tests.testNull(Tests.java:73)\n"},
	{name: "SingleLineNoLineNumberStackTrace", text: "net.Main -> foo.a:\n    0:0:void in(java.lang.String):42:42 -> a\n    0:0:void main(java.lang.String[]):28 -> a\n    0:0:void in2(java.lang.String):42:44 -> b\n    0:0:void main2(java.lang.String[]):29 -> b\n    void xin(java.lang.String):72:72 -> c\n    void main3(java.lang.String[]):30 -> c\n    void main4(java.lang.String[]):153 -> d\n",
		trace: "\tat foo.a.a(Unknown Source)\n\tat foo.a.b(Unknown Source)\n\tat foo.a.c(Unknown Source)\n\tat foo.a.d(Unknown Source)\n",
		want:  "\tat net.Main.in(Main.java:42)\n\tat net.Main.main(Main.java:28)\n\tat net.Main.in2(Main.java)\n\tat net.Main.main2(Main.java)\n\tat net.Main.main3(Main.java)\n\t<OR> at net.Main.xin(Main.java)\n\tat net.Main.main4(Main.java:153)\n"},
	{name: "SourceFileNameSynthesizeStackTrace", text: "net.Menu -> mapping:\n    21:21:void call():624 -> a\nnet.MenuKt -> mappingKotlin:\n    21:21:void call():624 -> b\n", trace: "\tat mapping.a(AW779999992:21)\n\tat noMappingKt.noMapping(AW779999992:21)\n\tat mappingKotlin.b(AW779999992:21)\n",
		want: "\tat net.Menu.call(Menu.java:624)\n\tat noMappingKt.noMapping(AW779999992:21)\n\tat net.MenuKt.call(Menu.kt:624)\n"},
	{name: "SourceFileWithNumberAndEmptyStackTrace", text: "net.R -> net.R:\n    34:34:void net.Util.with(net.Reporter,net.Util$Action):59:59 -> a\n    34:34:void run(net.App,net.Options):261 -> a\n", trace: "  at net.R.a(R.java:34)\n  at net.R.a(:34)\n",
		want: "  at net.Util.with(Util.java:59)\n  at net.R.run(R.java:261)\n  at net.Util.with(Util.java:59)\n  at net.R.run(R.java:261)\n"},
	{name: "SuppressedStackTrace", text: "foo.bar.baz -> a.b.c:\n", trace: "a.b.c: Problem\n    at r8.main(App:800)\nSuppressed: a.b.c: first\n    at r8.go(App:184)\n    ... 7 more\n", want: "foo.bar.baz: Problem\n    at r8.main(App:800)\nSuppressed: foo.bar.baz: first\n    at r8.go(App:184)\n    ... 7 more\n"},
	{name: "SyntheticLambdaMethodStackTrace", text: v1 + lambda + "ex.Foo$$Lambda0 -> a.b:\n    void run(ex.Foo) -> a\n      # {\"id\":\"com.android.tools.r8.synthesized\"}\n", trace: "java.lang.Error: x\n  at a.a.a(a.java:5)\n  at a.b.a(Unknown Source)\n  at a.a.b(a.java:3)\n  at a.a.c(a.java:2)\n",
		want: "java.lang.Error: x\n  at ex.Foo.lambda$main$0(Foo.java:225)\n  at ex.Foo.runIt(Foo.java:218)\n  at ex.Foo.main(Foo.java:223)\n"},
	{name: "SyntheticLambdaMethodWithInliningStackTrace", text: v1 + lambda + "ex.Foo$$Lambda0 -> a.b:\n    4:4:void ex.Foo.lambda$main$0():225 -> a\n    4:4:void run(ex.Foo):0 -> a\n      # {\"id\":\"com.android.tools.r8.synthesized\"}\n    5:5:void ex.Foo.lambda$main$1():228 -> a\n    5:5:void run(ex.Foo):0 -> a\n", trace: "java.lang.Error: x\n  at a.b.a(Unknown Source:4)\n  at a.b.a(Unknown Source:5)\n  at a.a.b(a.java:3)\n",
		want: "java.lang.Error: x\n  at ex.Foo.lambda$main$0(Foo.java:225)\n  at ex.Foo.lambda$main$1(Foo.java:228)\n  at ex.Foo.runIt(Foo.java:218)\n"},
	{name: "TrailingWhitespaceStackTrace", text: "net.Main -> a.b:\n    1:1:void main(java.lang.String[]):7:7 -> main\n", trace: "\tat a.b.main(Main.dummy:1)\u00a0\n", want: "\tat net.Main.main(Main.java:7)\u00a0\n"},
	{name: "UnicodeInFileNameStackTrace", text: fruit, trace: "  at f.s(Blåbærgrød.jàvà:1)\n", want: "  at net.Fruit.straw(Fruit.kt:99)\n"},
	{name: "UnknownMethodVerboseStackTrace", text: "net.bank.Main -> k.a:\n    net.bank.Foo go(java.lang.String[]) -> b\n    void go(net.bank.Bar) -> b\n", trace: "\tat k.a.onCreate(Foo.java)\n\tat k.a.b(Bar.java)\n", want: "\tat net.bank.Main.onCreate(Main.java)\n\tat net.bank.Main.go(Main.java)\n",
		differs: "there is no verbose form"},
	{name: "UnknownSourceStackTrace", text: "net.bank.Safe -> k.a:\n    void open(int) -> a\n    void close(int, int) -> a\n", trace: "net.bank.Shut: foo\n    at k.a.a(Unknown Source)\n    ... 42 more\n", want: "net.bank.Shut: foo\n    at net.bank.Safe.close(Safe.java)\n    <OR> at net.bank.Safe.open(Safe.java)\n    ... 42 more\n"},
	{name: "VerboseUnknownStackTrace", text: "foo.Bar -> a:\n", trace: "java.lang.IndexOutOfBoundsException\n\tat java.util.ArrayList.get(ArrayList.java:411)\n"},
}

const (
	overloads = "net.bank.Till -> net.bank.Till:\n    10:10:void pay(int):10:10 -> zza\n    11:11:void pay(int, int):11:11 -> zza\n    12:12:void pay(int, boolean):12:12 -> zza\n    13:13:boolean pay(int, int):13:13 -> zza\n"
	fruit     = "net.Fruit -> f:\n# {\"id\":\"sourceFile\",\"fileName\":\"Fruit.kt\"}\n    1:3:int straw(int):99:101 -> s\n    4:5:int mango(float):121:122 -> s\n    int passion(float):121:121 -> t\n"
	callsite  = "some.Class -> b:\n    1:1:void qux():42:42 -> s\n    5:5:int foo.Baz.call(int):98:98 -> s\n    5:5:int call(int):24 -> s\n    27:27:int call(int):0:0 -> s\n# {\"id\":\"com.android.tools.r8.outlineCallsite\",\"positions\":{\"1\":4,\"2\":5}}\n"
	npe       = "some.Class -> a:\n    4:4:void other.Class.check():23:23 -> a\n    4:4:void caller(other.Class):7 -> a\n  # {\"id\":\"com.android.tools.r8.rewriteFrame\",\"conditions\":[\"throws(Ljava/lang/NullPointerException;)\"],\"actions\":[\"removeInnerFrames(1)\"]}\n"
	lambda    = "ex.Foo -> a.a:\n    5:5:void lambda$main$0():225 -> a\n    3:3:void runIt():218 -> b\n    2:2:void main():223 -> c\n"
)

// TestRetraceCases holds that traces become what R8's retrace makes of them, or says why not.
func TestRetraceCases(t *testing.T) {
	for _, c := range r8Cases {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.trace
			}
			if got := runAll(t, filter.Options{Java: named(t, c.text)}, strings.NewReader(c.trace)); got != want {
				t.Errorf("%s\ngot\n%s\nwant\n%s", c.differs, got, want)
			}
		})
	}
	t.Logf("%d cases", len(r8Cases))
}

// TestRetraceVerified holds that a method which the map does not have keeps its name where an ID says that it is the right map, as R8's
// retrace shows it in AmbiguousMethodVerboseStackTrace, MapVersionWarningStackTrace and OutsideLineRangeStackTraceTest.
func TestRetraceVerified(t *testing.T) {
	const text = "# pg_map_id: 4f\nsome.Class -> b:\n    1:3:void two():11:13 -> a\n"
	const trace = "\tat b.a(r8-map-id-4f:27)\n\tat b.c(r8-map-id-4f:1)\n\tat b.a(r8-map-id-4f:2)\n"
	const want = "\tat some.Class.a(Class.java:27)\n\tat some.Class.c(Class.java:1)\n\tat some.Class.two(Class.java:12)\n"
	if got := runAll(t, filter.Options{Java: named(t, text)}, strings.NewReader(trace)); got != want {
		t.Errorf("got\n%s", got)
	}
}
