function foo(x) {
    return x;
}
foo("foo");
//# sourceMappingURL=transitive-mapping-original.js.map
