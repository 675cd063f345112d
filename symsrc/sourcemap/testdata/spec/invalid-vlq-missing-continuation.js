//# sourceMappingURL=invalid-vlq-missing-continuation.js.map
