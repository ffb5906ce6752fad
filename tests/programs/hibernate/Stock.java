package stock;

import java.util.function.Consumer;
import org.hibernate.Hibernate;
import org.hibernate.LazyInitializationException;
import org.hibernate.SessionFactory;
import org.hibernate.boot.registry.BootstrapServiceRegistryBuilder;
import org.hibernate.cfg.Configuration;

/** Writes and reads a stock of items; prints what was read, and what was loaded when. */
public class Stock implements Consumer<String> {
    @Override
    public void accept(String how) {
        var registry = new BootstrapServiceRegistryBuilder().applyClassLoader(getClass().getClassLoader()).build();
        Configuration settings = new Configuration(registry).addAnnotatedClass(Item.class).addAnnotatedClass(Supplier.class);
        settings.setProperty("hibernate.connection.url", "jdbc:h2:mem:stock");
        settings.setProperty("hibernate.connection.driver_class", "org.h2.Driver");
        settings.setProperty("hibernate.hbm2ddl.auto", "create");
        try (SessionFactory factory = settings.buildSessionFactory()) {
            factory.inTransaction(session -> {
                for (int s = 1; s <= 3; s++) {
                    Supplier supplier = new Supplier(s, "supplier " + s);
                    for (int i = 0; i < 5; i++) {
                        supplier.supplies(new Item(10 * s + i, "item " + s + i, 7 * s + i));
                    }
                    session.persist(supplier);
                }
            });
            factory.inTransaction(session -> {
                Item item = session.find(Item.class, 12L);
                System.out.println(item.getName() + ", text is there: " + Hibernate.isPropertyInitialized(item, "text"));
                Supplier supplier = item.getSupplier();
                System.out.println("supplier is there: " + Hibernate.isInitialized(supplier));
                System.out.println(supplier.getName() + " has " + supplier.getItems().size());
                System.out.println("supplier is there: " + Hibernate.isInitialized(supplier) + ", " + item.getText().length());
                item.take(4);
                supplier.setName("renamed");
                try {
                    item.take(400);
                } catch (IllegalStateException refused) {
                    System.out.println(refused.getMessage());
                }
            });
            Item detached = factory.fromSession(session -> session.find(Item.class, 34L));
            try {
                System.out.println(detached.getSupplier().getName());
            } catch (LazyInitializationException lazy) {
                System.out.println("lazy: " + detached.getName());
            }
            if (how.equals("find")) {
                return;
            }
            factory.inSession(session -> session
                .createSelectionQuery("select i.supplier.name, sum(i.count), max(i.name) from Item i group by i.supplier.name order by 1", Object[].class)
                .list()
                .forEach(row -> System.out.println(row[0] + " " + row[1] + " " + row[2])));
            factory.inSession(session -> session
                .createSelectionQuery("from Supplier s left join fetch s.items i where i.count > 9 order by s.id", Supplier.class)
                .list()
                .forEach(s -> s.getItems().forEach(i -> System.out.println(s.getName() + ": " + i.getName() + " " + i.getCount()))));
        }
    }
}
