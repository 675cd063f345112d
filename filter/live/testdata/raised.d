import core.stdc.stdio;

// Writes its mappings, and ends by an exception.
extern (C):

__gshared int sum;

pragma(inline, false) void step(int n, void function(int) visit)
{
    if (n == 0)
        throw new Exception("at the end");
    visit(n);
    step(n - 1, visit);
    sum += n;
}

void add(int n)
{
    sum += n;
    if (n == 1 && visits)
        throw new Exception("in a visit");
}

__gshared bool visits;

extern (D) void main(string[] args)
{
    auto maps = fopen("/proc/self/maps", "r");
    for (int c = fgetc(maps); c != EOF; c = fgetc(maps))
        fputc(c, stderr);
    visits = args[1] == "called";
    step(4, &add);
}
