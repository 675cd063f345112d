package tree

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"qss-filter/filter"
)

// Why a signature differs from the crash state of ClusterFuzz.
const (
	none      = "ClusterFuzz has no state, or one that is not of frames; the signature is that of the frames there are"
	message   = "the state begins with the text of the assertion or of the cast, which is the headline of a stack here"
	arguments = "the state keeps the arguments of templates, cut off after some characters"
	source    = "the state has the source file in place of LLVMFuzzerTestOneInput, or leaves that out"
	packages  = "the state has packages of Go without the path, begins with the text of the panic, and has functions of Go's library"
	newest    = "the state is of a later stack of the log"
	recursion = "the state begins where the recursion repeats; a signature with the first frames needs no end of the stack"
	apart     = "the state joins the frame in a sentence of the kernel with the stack below it"
	project   = "the state leaves out a function by its project's own list"
)

// clusterFuzz has the crash states that the tests of ClusterFuzz expect of these logs, which are from these tests, and the signatures of
// the first stack that has a function of the program's own. ours is "" if the two are the same.
var clusterFuzz = []struct{ log, state, ours, why string }{
	{"android_asan_null_dereference_read", "_JavaVM::AttachCurrentThread--javaAttachThread--android::AndroidRuntime::javaThreadShell", "", ""},
	{"android_asan_null_dereference_write", "_JavaVM::AttachCurrentThread--javaAttachThread--android::AndroidRuntime::javaThreadShell", "", ""},
	{"android_asan_unknown_read", "_JavaVM::AttachCurrentThread--javaAttachThread--android::AndroidRuntime::javaThreadShell", "", ""},
	{"android_asan_unknown_write", "_JavaVM::AttachCurrentThread--javaAttachThread--android::AndroidRuntime::javaThreadShell", "", ""},
	{"android_null_stack", "Surfaceflinger", "", none},
	{"unknown_module", "NULL", "", none},
	{"ubsan_bad_cast_member_call", "Bad-cast to net::QuicSpdySession from net::QuicSession--net::QuicSpdyStream::~QuicSpdyStream--net::QuicChromiumClientStream::~QuicChromiumClientStream", "net::QuicSpdyStream::~QuicSpdyStream--net::QuicChromiumClientStream::~QuicChromiumClientStream--STLDeleteContainerPointers", message},
	{"ubsan_divide_by_zero", "mpeg_decode_postinit--decode_chunks--mpeg_decode_frame", "", ""},
	{"ubsan_implicit_conversion", "htmlCurrentChar--htmlParseHTMLAttribute--htmlParseAttValue", "", ""},
	{"ubsan_incorrect_function_pointer_type", "gl::GetGLProcAddress--gl::DriverGL::InitializeStaticBindings--gl::InitializeStaticGLBindingsGL", "", ""},
	{"ubsan_integer_overflow_addition", "gfx::Point::operator+=--gfx::Rect::Inset--cc::PictureLayerTiling::ComputeTilePriorityRects", "", ""},
	{"ubsan_invalid_bool_value", "tsm_screen_tab_left--parse_data--tsm_vte_input", "", ""},
	{"ubsan_misaligned_address", "pnm_decode_frame--decode_simple_internal--decode_simple_receive_frame", "", ""},
	{"ubsan_null_pointer_member_access", "xmlFAParseCharClassEsc--xmlFAParseAtom--xmlFAParsePiece", "", ""},
	{"ubsan_null_pointer_read", "SHPReadOGRObject--SHPReadOGRFeature--OGRShapeLayer::GetNextFeature", "", ""},
	{"ubsan_null_pointer_reference_binding", "woff2::ConvertWOFF2ToTTF--convert_woff2ttf_fuzzer.cc", "woff2::ConvertWOFF2ToTTF--LLVMFuzzerTestOneInput", source},
	{"ubsan_null_pointer_write", "SHPReadOGRObject--SHPReadOGRFeature--OGRShapeLayer::GetNextFeature", "", ""},
	{"ubsan_pointer_overflow_null_zero_offset", "cff_subfont_load--cff_font_load--cff_face_init", "", ""},
	{"ubsan_pointer_overflow_null_nonzero_offset", "courgette::DisassemblerWin32::ParseRelocs--courgette::DisassemblerWin32::ExtractAbs32Locations--courgette::Disassembler::CreateProgram", "", ""},
	{"ignore_honggfuzz", "function1--function2--function3", "", ""},
	{"ignore_libcplusplus", "sfntly::BitmapSizeTable::Builder::Initialize--sfntly::BitmapSizeTable::Builder::GetIndexSubTableBuilders--InitializeBitmapBuilder", "", ""},
	{"ignore_win_frames", "v8::internal::GenerateSourceString--regexp-builtins.cc", "v8::internal::GenerateSourceString--LLVMFuzzerTestOneInput--main", source},
	{"lsan_single_frame_stacks", "f", "", ""},
	{"cfi_bad_cast_indirect_fc", "Bad-cast to void (*(struct VkInstance_T *, const char *))(void)--vkGetInstanceProcAddrStub$8d185785d173e702d91e2893e143a6d9.cfi--volkGenLoadLoader", "vkGetInstanceProcAddrStub--volkGenLoadLoader--volkInitialize", message},
	{"cfi_nodebug", "abc::def--foo--bar", "", ""},
	{"asan_ill", "boom_internal--boom_intermediate--boom", "", ""},
	{"asan_invalid_free", "_gnutls_buffer_append_printf--print_cert--gnutls_x509_crt_print", "", ""},
	{"libfuzzer_deadly_signal", "NULL", "LLVMFuzzerTestOneInput", none},
	{"libfuzzer_fuzz_target_exited", "clearsilver_fuzzer_file.cc", "LLVMFuzzerTestOneInput--main", source},
	{"gsignal_at_first_stack_frame", "AbbreviatedMonthsMap--get--GetInstance", "net::FtpUtil::AbbreviatedMonthToNumber--net::FtpUtil::LsDateListingToTime--net::ParseFtpDirectoryListingLs", newest},
	{"sanitizer_signal_abrt_unknown", "NULL", "libc.so.6--LLVMFuzzerTestOneInput", none},
	{"kasan_gpf", "keyring_destroy--key_garbage_collector--process_one_work", "keyring_destroy", apart},
	{"kasan_null", "snd_seq_fifo_clear--snd_seq_ioctl_remove_events--snd_seq_do_ioctl", "", ""},
	{"kasan_oob_read", "platform_match--__device_attach_driver--bus_for_each_drv", "platform_match", apart},
	{"asan_null_dereference_win_read", "blink::SVGEnumerationBase::calculateAnimatedValue--blink::SVGAnimateElement::calculateAnimatedValue--blink::SVGAnimationElement::updateAnimation", "", ""},
	{"asan_unknown_crash_read", "void rawspeed::FujiDecompressor::copy_line<rawspeed::FujiDecompressor::copy_line--rawspeed::FujiDecompressor::copy_line_to_xtrans--rawspeed::FujiDecompressor::fuji_decode_strip", "rawspeed::FujiDecompressor::copy_line--rawspeed::FujiDecompressor::copy_line_to_xtrans--rawspeed::FujiDecompressor::fuji_decode_strip", arguments},
	{"asan_unknown_crash_write", "void rawspeed::FujiDecompressor::copy_line<rawspeed::FujiDecompressor::copy_line--rawspeed::FujiDecompressor::copy_line_to_xtrans--rawspeed::FujiDecompressor::fuji_decode_strip", "rawspeed::FujiDecompressor::copy_line--rawspeed::FujiDecompressor::copy_line_to_xtrans--rawspeed::FujiDecompressor::fuji_decode_strip", arguments},
	{"asan_unknown_win_read", "blink::SVGEnumerationBase::calculateAnimatedValue--blink::SVGAnimateElement::calculateAnimatedValue--blink::SVGAnimationElement::updateAnimation", "", ""},
	{"asan_unknown_win_write", "blink::SVGEnumerationBase::calculateAnimatedValue--blink::SVGAnimateElement::calculateAnimatedValue--blink::SVGAnimationElement::updateAnimation", "", ""},
	{"kernel_bug_invalid_opcode", "test_rtc_alarm_irq_enable--rtc_alarm_irq_enable--rtc_dev_ioctl", "add_timer", newest},
	{"check_failure_android_media", "CHECK_EQ( (unsigned)ptr[0],1u) failed in MPEG4Extractor.cpp--android::MPEG4Source::MPEG4Source--android::MPEG4Extractor::getTrack", "android::MPEG4Source::MPEG4Source--android::MPEG4Extractor::getTrack--android::NuPlayer::GenericSource::initFromDataSource", message},
	{"check_failure_chrome_android2", "lifecycle().state() < DocumentLifecycle::LayoutClean in FrameView.cpp--blink::FrameView::checkLayoutInvalidationIsAllowed--blink::FrameView::setNeedsLayout", "blink::FrameView::checkLayoutInvalidationIsAllowed--blink::FrameView::setNeedsLayout--blink::LayoutPart::updateWidgetGeometry", message},
	{"check_failure_chrome_mac", "max_start_velocity > 0 in fling_curve.cc--ui::FlingCurve::FlingCurve--ui::WebGestureCurveImpl::CreateFromDefaultPlatformCurve", "ui::FlingCurve::FlingCurve--ui::WebGestureCurveImpl::CreateFromDefaultPlatformCurve--content::BlinkPlatformImpl::createFlingAnimationCurve", message},
	{"check_failure_with_assert_message", "host->listeners_.IsEmpty() in render_process_host_impl.cc--content::RenderProcessHostImpl::CheckAllTerminated--content::BrowserMainLoop::ShutdownThreadsAndCleanUp", "content::RenderProcessHostImpl::CheckAllTerminated--content::BrowserMainLoop::ShutdownThreadsAndCleanUp--content::BrowserMainRunnerImpl::Shutdown", message},
	{"assert_glibc_with_glib", "g_utf8_validate (tag, -1, NULL)--gst_tag_list_from_vorbiscomment--tag_list_from_vorbiscomment_packet", "custom_logger--gst_tag_list_from_vorbiscomment--tag_list_from_vorbiscomment_packet", project},
	{"glib_assert_failure", "(j < i)--ast_array_get_pattern--array_get_pattern", "ast_array_get_pattern--array_get_pattern--ast_resolve", message},
	{"check_failure_google", "std::is_sorted(foo.begin(), foo.end()) in file.cc--Frame--path.cc", "Frame--LLVMFuzzerTestOneInput", source},
	{"log_fatal_google", "Log fatal in file.h--Frame--path.cc", "Frame--LLVMFuzzerTestOneInput", source},
	{"golang_asan_panic", "asn1: string not valid UTF-8--asn1.Fuzz", "github.com/dvyukov/go-fuzz-corpus/asn1.Fuzz--main.LLVMFuzzerTestOneInput", packages},
	{"golang_sigsegv_panic", "math.glob..func1--math.init.ializers", "", packages},
	{"golang_libfuzzer_panic", "parse //%B9--url.Fuzz", "github.com/dvyukov/go-fuzz-corpus/url.Fuzz--main.fuzzer_run", packages},
	{"golang_panic_with_type_assertions_in_frames", "index > windowEnd--flate.(*compressor).deflate--flate.(*compressor).syncFlush", "github.com/google/syzkaller/pkg/rpctype.(*flateConn).Write", packages},
	{"golang_fatal_error_stack_overflow", "ast.(*scanner).next--ast.(*scanner).scanIdent--ast.(*scanner).Scan", "github.com/google/syzkaller/pkg/ast.(*scanner).next--github.com/google/syzkaller/pkg/ast.(*scanner).scanIdent--github.com/google/syzkaller/pkg/ast.(*scanner).Scan", packages},
	{"golang_panic_runtime_error_invalid_memory_address", "repro.(*context).reproMinimizeProg--repro.(*context).repro--repro.Run", "github.com/google/syzkaller/pkg/repro.(*context).reproMinimizeProg--github.com/google/syzkaller/pkg/repro.(*context).repro--github.com/google/syzkaller/pkg/repro.Run", packages},
}

// TestClusterFuzz compares the signatures of logs with ClusterFuzz's crash states.
func TestClusterFuzz(t *testing.T) {
	same := 0
	for _, c := range clusterFuzz {
		want := c.ours
		if c.why == "" {
			want = c.state
			same++
		}
		if got := signatureOf(t, filepath.Join("testdata", "clusterfuzz", c.log+".txt")); got != want {
			t.Errorf("%s: the signature is %s, want %s: %s", c.log, got, want, c.why)
		}
	}
	t.Logf("%d of %d signatures are the same as the states", same, len(clusterFuzz))
}

// projects are dependencies of Chromium, of which many of the logs are.
var projects = regexp.MustCompile(`/third_party/|/usr/include/|/external/`)

// signatureOf returns the signature of the first stack of a log that has a function of the program's own, or of a dependency.
func signatureOf(t *testing.T, path string) (signature string) {
	t.Helper()
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r, err := NewReport(ReportOptions{Report: t.TempDir(), Group: true})
	if err != nil {
		t.Fatal(err)
	}
	o := filter.Options{Symbols: emptySource{}, Observe: r.Observe, Read: r.Read}
	if err := filter.New(o).Run(context.Background(), log, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	first := math.MaxInt
	for _, g := range r.groups.all {
		for i := range g.shown {
			if p := g.shown[i]; g.id < first && (p.own || projects.MatchString("/"+p.File)) && p.Func != "" {
				signature, first = g.signature, g.id
			}
		}
	}
	return signature
}
