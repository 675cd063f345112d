               3
//# sourceMappingURL=vlq-valid-continuation-bit-present-1.js.map
