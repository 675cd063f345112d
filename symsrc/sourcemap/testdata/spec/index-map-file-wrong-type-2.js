function foo(){return 42}function bar(){return 24}foo();bar();
//# sourceMappingURL=index-map-file-wrong-type-2.js.map
