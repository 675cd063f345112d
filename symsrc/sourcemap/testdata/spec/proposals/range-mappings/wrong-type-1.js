//# sourceMappingURL=wrong-type-1.js.map
