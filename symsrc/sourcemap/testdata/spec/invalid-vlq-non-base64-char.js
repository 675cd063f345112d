//# sourceMappingURL=invalid-vlq-non-base64-char.js.map
