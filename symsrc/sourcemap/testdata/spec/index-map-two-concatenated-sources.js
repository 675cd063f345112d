function foo(){return 42}function bar(){return 24}foo();bar();function baz(){return"baz"}baz();
//# sourceMappingURL=index-map-two-concatenated-sources.js.map
