function foo(){return 42}function bar(){return 24}foo();bar();
//# sourceMappingURL=index-map-missing-file.js.map
