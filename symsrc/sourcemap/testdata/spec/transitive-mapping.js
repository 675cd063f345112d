function foo(x){return x}foo("foo");
//# sourceMappingURL=transitive-mapping.js.map
