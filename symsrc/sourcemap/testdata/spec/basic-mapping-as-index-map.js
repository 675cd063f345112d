function foo(){return 42}function bar(){return 24}foo();bar();
//# sourceMappingURL=basic-mapping-as-index-map.js.map
