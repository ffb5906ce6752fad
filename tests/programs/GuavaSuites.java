import com.google.common.collect.BiMap;
import com.google.common.collect.HashBiMap;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.LinkedHashMultimap;
import com.google.common.collect.LinkedListMultimap;
import com.google.common.collect.ListMultimap;
import com.google.common.collect.Lists;
import com.google.common.collect.Multiset;
import com.google.common.collect.Ordering;
import com.google.common.collect.SetMultimap;
import com.google.common.collect.TreeMultiset;
import com.google.common.collect.testing.ListTestSuiteBuilder;
import com.google.common.collect.testing.MapTestSuiteBuilder;
import com.google.common.collect.testing.NavigableSetTestSuiteBuilder;
import com.google.common.collect.testing.SetTestSuiteBuilder;
import com.google.common.collect.testing.TestStringListGenerator;
import com.google.common.collect.testing.TestStringMapGenerator;
import com.google.common.collect.testing.TestStringSetGenerator;
import com.google.common.collect.testing.TestStringSortedSetGenerator;
import com.google.common.collect.testing.features.CollectionFeature;
import com.google.common.collect.testing.features.CollectionSize;
import com.google.common.collect.testing.features.ListFeature;
import com.google.common.collect.testing.features.MapFeature;
import com.google.common.collect.testing.google.BiMapTestSuiteBuilder;
import com.google.common.collect.testing.google.ListMultimapTestSuiteBuilder;
import com.google.common.collect.testing.google.MultisetTestSuiteBuilder;
import com.google.common.collect.testing.google.SetMultimapTestSuiteBuilder;
import com.google.common.collect.testing.google.TestStringBiMapGenerator;
import com.google.common.collect.testing.google.TestStringListMultimapGenerator;
import com.google.common.collect.testing.google.TestStringMultisetGenerator;
import com.google.common.collect.testing.google.TestStringSetMultimapGenerator;
import com.google.common.reflect.ClassPath;
import com.google.common.testing.NullPointerTester;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Set;
import java.util.SortedSet;
import junit.framework.TestFailure;
import junit.framework.TestResult;
import junit.framework.TestSuite;

/**
 * Guava's collections under the suites that guava-testlib makes for them, and each public class of guava under its tests of
 * null arguments. Prints what does not pass, and how many tests ran.
 */
public final class GuavaSuites {
    public static void main(String[] args) throws Exception {
        TestSuite all = new TestSuite();
        all.addTest(ListTestSuiteBuilder.using(new TestStringListGenerator() {
            @Override
            protected List<String> create(String[] elements) {
                return ImmutableList.copyOf(elements);
            }
        }).named("ImmutableList")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE, CollectionFeature.ALLOWS_NULL_QUERIES)
            .createTestSuite());
        all.addTest(ListTestSuiteBuilder.using(new TestStringListGenerator() {
            @Override
            protected List<String> create(String[] elements) {
                return Lists.reverse(Lists.newArrayList(Lists.reverse(Arrays.asList(elements))));
            }
        }).named("Lists.reverse")
            .withFeatures(CollectionSize.ANY, CollectionFeature.ALLOWS_NULL_VALUES, ListFeature.GENERAL_PURPOSE)
            .createTestSuite());
        all.addTest(SetTestSuiteBuilder.using(new TestStringSetGenerator() {
            @Override
            protected Set<String> create(String[] elements) {
                return ImmutableSet.copyOf(elements);
            }
        }).named("ImmutableSet")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE, CollectionFeature.KNOWN_ORDER, CollectionFeature.ALLOWS_NULL_QUERIES)
            .createTestSuite());
        all.addTest(NavigableSetTestSuiteBuilder.using(new TestStringSortedSetGenerator() {
            @Override
            protected SortedSet<String> create(String[] elements) {
                return ImmutableSortedSet.copyOf(elements);
            }
        }).named("ImmutableSortedSet")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE, CollectionFeature.KNOWN_ORDER, CollectionFeature.ALLOWS_NULL_QUERIES)
            .createTestSuite());
        all.addTest(MapTestSuiteBuilder.using(new TestStringMapGenerator() {
            @Override
            protected Map<String, String> create(Entry<String, String>[] entries) {
                return ImmutableMap.<String, String>builder().putAll(Arrays.asList(entries)).build();
            }
        }).named("ImmutableMap")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE_INCLUDING_VIEWS, CollectionFeature.KNOWN_ORDER,
                MapFeature.REJECTS_DUPLICATES_AT_CREATION, CollectionFeature.ALLOWS_NULL_QUERIES)
            .createTestSuite());
        all.addTest(BiMapTestSuiteBuilder.using(new TestStringBiMapGenerator() {
            @Override
            protected BiMap<String, String> create(Entry<String, String>[] entries) {
                BiMap<String, String> made = HashBiMap.create();
                for (Entry<String, String> entry : entries) {
                    made.put(entry.getKey(), entry.getValue());
                }
                return made;
            }
        }).named("HashBiMap")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE, CollectionFeature.SUPPORTS_ITERATOR_REMOVE,
                CollectionFeature.KNOWN_ORDER, MapFeature.ALLOWS_NULL_KEYS, MapFeature.ALLOWS_NULL_VALUES,
                MapFeature.ALLOWS_ANY_NULL_QUERIES, MapFeature.GENERAL_PURPOSE)
            .createTestSuite());
        all.addTest(MultisetTestSuiteBuilder.using(new TestStringMultisetGenerator() {
            @Override
            protected Multiset<String> create(String[] elements) {
                return TreeMultiset.create(Arrays.asList(elements));
            }

            @Override
            public List<String> order(List<String> inserted) {
                return Ordering.natural().sortedCopy(inserted);
            }
        }).named("TreeMultiset")
            .withFeatures(CollectionSize.ANY, CollectionFeature.SERIALIZABLE, CollectionFeature.KNOWN_ORDER, CollectionFeature.GENERAL_PURPOSE,
                CollectionFeature.ALLOWS_NULL_QUERIES)
            .createTestSuite());
        all.addTest(SetMultimapTestSuiteBuilder.using(new TestStringSetMultimapGenerator() {
            @Override
            protected SetMultimap<String, String> create(Entry<String, String>[] entries) {
                SetMultimap<String, String> made = LinkedHashMultimap.create();
                for (Entry<String, String> entry : entries) {
                    made.put(entry.getKey(), entry.getValue());
                }
                return made;
            }
        }).named("LinkedHashMultimap")
            .withFeatures(CollectionSize.ANY, MapFeature.ALLOWS_NULL_KEYS, MapFeature.ALLOWS_NULL_VALUES, MapFeature.ALLOWS_ANY_NULL_QUERIES,
                MapFeature.GENERAL_PURPOSE, MapFeature.FAILS_FAST_ON_CONCURRENT_MODIFICATION, CollectionFeature.SUPPORTS_ITERATOR_REMOVE,
                CollectionFeature.KNOWN_ORDER, CollectionFeature.SERIALIZABLE)
            .createTestSuite());
        all.addTest(ListMultimapTestSuiteBuilder.using(new TestStringListMultimapGenerator() {
            @Override
            protected ListMultimap<String, String> create(Entry<String, String>[] entries) {
                ListMultimap<String, String> made = LinkedListMultimap.create();
                for (Entry<String, String> entry : entries) {
                    made.put(entry.getKey(), entry.getValue());
                }
                return made;
            }
        }).named("LinkedListMultimap")
            .withFeatures(CollectionSize.ANY, MapFeature.ALLOWS_NULL_KEYS, MapFeature.ALLOWS_NULL_VALUES, MapFeature.ALLOWS_ANY_NULL_QUERIES,
                MapFeature.GENERAL_PURPOSE, CollectionFeature.SUPPORTS_ITERATOR_REMOVE, CollectionFeature.KNOWN_ORDER, CollectionFeature.SERIALIZABLE)
            .createTestSuite());
        TestResult result = new TestResult();
        all.run(result);
        for (TestFailure failed : Collections.list(result.failures())) {
            System.out.println("failed: " + failed.failedTest());
        }
        for (TestFailure failed : Collections.list(result.errors())) {
            System.out.println("error: " + failed.failedTest());
        }
        nulls();
        System.out.println("tests: " + result.runCount());
    }

    /** What each public class does with null arguments. */
    private static void nulls() throws Exception {
        for (ClassPath.ClassInfo info : ClassPath.from(GuavaSuites.class.getClassLoader()).getTopLevelClassesRecursive("com.google.common")) {
            if (info.getName().contains(".testing.") || !Modifier.isPublic(info.load().getModifiers())) {
                continue;
            }
            String told = " refuses null arguments";
            try {
                new NullPointerTester().testAllPublicStaticMethods(info.load());
            } catch (Throwable first) {
                told = " takes null arguments"; // at least one method, and which one comes first is for the JVM
            }
            System.out.println(info.getName() + told);
        }
    }
}
