//# sourceMappingURL=wrong-type-3.js.map
