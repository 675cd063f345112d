// Crashes in one of several situations, below the stack printer of a library: GLOG, BOOST, ABSL, BACKWARD or BACKWARD_HERE.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

volatile int depth;

// maps prints the mappings, without which an address says nothing.
static void maps() {
	char b[4096];
	int in = open("/proc/self/maps", O_RDONLY);
	for (ssize_t n; (n = read(in, b, sizeof b)) > 0;)
		if (write(2, b, n) != n)
			break;
	close(in);
}

#ifdef GLOG
#include <glog/logging.h>
static void install(const char *name) {
	google::InitGoogleLogging(name);
	google::InstallFailureSignalHandler();
}
__attribute__((noinline)) static void stop() { LOG(FATAL) << "stop"; }
#endif

#ifdef ABSL
#include <absl/debugging/internal/examine_stack.h>
#include <absl/debugging/stacktrace.h>
#include <absl/debugging/symbolize.h>
static void put(const char *text, void *) {
	if (write(2, text, strlen(text)) < 0)
		_exit(2);
}
// show does what Abseil's failure signal handler does. Debian's library is built without frame pointers, and its unwinder follows these.
static void show(int, siginfo_t *, void *context) {
	void *stack[32];
	int sizes[32], dropped;
	int n = absl::GetStackFramesWithContext(stack, sizes, 32, 1, context, &dropped);
	absl::debugging_internal::DumpPCAndFrameSizesAndStackTrace(absl::debugging_internal::GetProgramCounter(context), stack, sizes, n, dropped,
		true, put, nullptr);
	_exit(1);
}
static void install(const char *name) {
	absl::InitializeSymbolizer(name);
	struct sigaction a = {};
	a.sa_flags = SA_SIGINFO;
	a.sa_sigaction = show;
	sigaction(SIGSEGV, &a, nullptr);
	sigaction(SIGUSR1, &a, nullptr);
}
__attribute__((noinline)) static void stop() { raise(SIGUSR1); }
#endif

#ifdef BACKWARD
#include <backward.hpp>
static void install(const char *) {
	static backward::SignalHandling handling;
}
__attribute__((noinline)) static void stop() { abort(); }
#endif

#ifdef BACKWARD_HERE
#include <backward.hpp>
static void show(int) {
	backward::StackTrace stack;
	stack.load_here(32);
	backward::Printer().print(stack, stderr);
	_exit(1);
}
static void install(const char *) {
	signal(SIGSEGV, show);
	signal(SIGABRT, show);
}
__attribute__((noinline)) static void stop() { raise(SIGABRT); }
#endif

#ifdef BOOST
#include <boost/stacktrace.hpp>
#include <iostream>
static void show(int) {
	std::cerr << boost::stacktrace::stacktrace();
	_exit(1);
}
static void install(const char *) {
	signal(SIGSEGV, show);
	signal(SIGABRT, show);
}
__attribute__((noinline)) static void stop() { show(0); }
#endif

struct Shape {
	virtual int area(int n) = 0;
	virtual ~Shape() {}
};

struct Square : Shape {
	__attribute__((noinline)) int area(int n) override {
		stop();
		return n * depth;
	}
};

__attribute__((noinline)) static int pointed(Shape *s) {
	int r = s->area(depth);
	return r + depth;
}

__attribute__((noinline)) static int compare(const void *a, const void *b) {
	stop();
	depth = depth + 1;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int sorted(int *v, int n) {
	qsort(v, n, sizeof *v, compare);
	return v[0] + depth;
}

static inline int small(int n) {
	stop();
	return n + depth;
}

__attribute__((noinline)) static int deep(int n) {
	int r = n == 0 ? small(n) : deep(n - 1);
	depth = depth + 1;
	return r + depth;
}

__attribute__((noinline)) static int faulty(volatile int *p) {
	int n = depth;
	*p = n;
	return n + depth;
}

namespace outer {
template <class T> __attribute__((noinline)) T caller(T *p) {
	int r = faulty(p);
	return r + depth;
}
} // namespace outer

static void *thread(void *p) {
	deep(2);
	depth = depth + 1;
	return p;
}

int main(int argc, char **argv) {
	const char *scene = argc > 1 ? argv[1] : "";
	int v[] = {3, 1, 2};
	Square square;
	maps();
	install(argv[0]);
	if (!strcmp(scene, "deep"))
		printf("%d\n", deep(3));
	if (!strcmp(scene, "qsort"))
		printf("%d\n", sorted(v, 3));
	if (!strcmp(scene, "segv"))
		printf("%d\n", outer::caller<int>(nullptr));
	if (!strcmp(scene, "virtual"))
		printf("%d\n", pointed(&square));
	if (!strcmp(scene, "memcpy"))
		memcpy((char *)8 + depth, v, sizeof v + depth);
	if (!strcmp(scene, "thread")) {
		pthread_t t;
		pthread_create(&t, nullptr, thread, nullptr);
		pthread_join(t, nullptr);
	}
	return depth;
}
