package stock;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import java.util.ArrayList;
import java.util.List;

/** Has items, which are read when they are asked for. */
@Entity
public class Supplier {
    @Id
    private Long id;
    private String name;

    @OneToMany(mappedBy = "supplier", cascade = CascadeType.ALL)
    @OrderBy("id")
    private List<Item> items = new ArrayList<>();

    protected Supplier() {}

    public Supplier(long id, String name) {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a supplier has a name");
        }
        this.id = id;
        this.name = name;
    }

    public void supplies(Item item) {
        item.setSupplier(this);
        items.add(item);
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    public List<Item> getItems() {
        return items;
    }
}
