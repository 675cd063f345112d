//# sourceMappingURL=invalid-vlq-zero.js.map
