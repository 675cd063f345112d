  
 "Hello world"; function f() {   }
//# sourceMappingURL=multiple-mappings.js.map
