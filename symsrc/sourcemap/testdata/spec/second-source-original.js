function baz() {
  return "baz";
}
baz();
