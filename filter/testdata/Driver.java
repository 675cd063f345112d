import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Calls all that a jar has with arguments that are nothing, and prints the stack traces of what it throws. */
public class Driver {
  static Object nothing(Class<?> type) {
    if (!type.isPrimitive()) return null;
    if (type == boolean.class) return false;
    if (type == char.class) return 'x';
    if (type == byte.class) return (byte) -1;
    if (type == short.class) return (short) -1;
    if (type == int.class) return -1;
    if (type == long.class) return -1L;
    if (type == float.class) return -1f;
    return -1d;
  }

  static Object[] nothing(Class<?>[] types) {
    Object[] all = new Object[types.length];
    for (int i = 0; i < all.length; i++) all[i] = nothing(types[i]);
    return all;
  }

  interface Call {
    Object run() throws Throwable;
  }

  static Object call(Call call) {
    try {
      return call.run();
    } catch (InvocationTargetException e) {
      e.getCause().printStackTrace(System.out);
    } catch (Throwable e) {
      // It could not be called.
    }
    return null;
  }

  static void callAll(Class<?> of) {
    Object self = null;
    for (Constructor<?> made : of.getDeclaredConstructors()) {
      Object one = call(() -> { made.setAccessible(true); return made.newInstance(nothing(made.getParameterTypes())); });
      if (one != null) self = one;
    }
    for (Method method : of.getDeclaredMethods()) {
      Object on = self;
      if (on != null || Modifier.isStatic(method.getModifiers())) {
        call(() -> { method.setAccessible(true); return method.invoke(on, nothing(method.getParameterTypes())); });
      }
    }
  }

  public static void main(String[] args) throws Exception {
    TreeSet<String> names = new TreeSet<>();
    try (JarFile jar = new JarFile(args[0])) {
      for (JarEntry e : Collections.list(jar.entries())) {
        if (e.getName().endsWith(".class")) names.add(e.getName().replace(".class", "").replace('/', '.'));
      }
    }
    for (String name : names) {
      try {
        callAll(Class.forName(name, false, Driver.class.getClassLoader()));
      } catch (LinkageError e) {
        // It needs what is not there.
      }
    }
  }
}
