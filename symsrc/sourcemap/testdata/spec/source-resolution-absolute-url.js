function foo(){return 42}function bar(){return 24}foo();bar();
//# sourceMappingURL=source-resolution-absolute-url.js.map
