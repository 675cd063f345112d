function foo(x) {
    return x;
}

foo("foo");
//# sourceMappingURL=transitive-mapping-three-steps.js.map
