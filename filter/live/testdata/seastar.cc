// Prints its stack as Seastar does: the address in its file less 1, and the path of a library before it, which is none
// here (src/util/backtrace.cc).
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cstdio>
#include <cstring>

static bool oneLine;

__attribute__((noinline)) void print()
{
    void *stack[32];
    int n = backtrace(stack, 32);
    printf(oneLine ? "Reactor stalled for 8 ms on shard 0. Backtrace:" : "Segmentation fault on shard 9.\nBacktrace:\n");
    for (int i = 0; i < n; i++) {
        unsigned long ip = (unsigned long)stack[i] - 1;
        Dl_info info;
        link_map *map;
        dladdr1((void *)ip, &info, (void **)&map, RTLD_DL_LINKMAP);
        printf(oneLine ? " %s%s0x%lx" : "  %s%s0x%lx\n", map->l_name[0] ? "/nowhere" : "", map->l_name[0] ? "/lib.so+" : "", ip - map->l_addr);
    }
    if (oneLine)
        printf("\n");
}

__attribute__((noinline)) void middle(int n)
{
    if (n > 0)
        middle(n - 1);
    else
        print();
    __asm__ volatile("" ::: "memory");
}

int main(int, char **argv)
{
    oneLine = !strcmp(argv[1], "line");
    middle(3);
    return 0;
}
