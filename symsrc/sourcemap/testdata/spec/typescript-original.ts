type FooArg = string | number;
function foo(x : FooArg) {
  return x;
}
foo("foo");
